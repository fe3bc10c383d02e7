"""Requests in a partition a month of the sweep's date; speedups and verdicts kept apart by hardware.

Revises: 0003
"""
# ruff: noqa: E501, S608 - SQL and comments of columns are long; every name in them is written here

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Made under its name and then attached: that takes no lock against readers and writers of the other months. Runs as
# its owner, so that a loader that may only write can make the month it needs.
ENSURE_PARTITION = """
create function warehouse.ensure_request_partition(day date)
returns text
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    since date := make_date(extract(year from day)::int, extract(month from day)::int, 1);
    until date := (make_date(extract(year from day)::int, extract(month from day)::int, 1) + interval '1 month')::date;
    partition text := format('request_%s_%s', extract(year from day), lpad(extract(month from day)::text, 2, '0'));
begin
    if exists (
        select 1 from pg_inherits as i inner join pg_class as c on i.inhrelid = c.oid
        where i.inhparent = 'warehouse.request'::regclass and c.relname = partition
    ) then
        return partition;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('warehouse.request: partitions', 0));
    if exists (
        select 1 from pg_inherits as i inner join pg_class as c on i.inhrelid = c.oid
        where i.inhparent = 'warehouse.request'::regclass and c.relname = partition
    ) then
        return partition;
    end if;
    execute format('create table warehouse.%I (like warehouse.request including all)', partition);
    execute format('comment on table warehouse.%I is %L', partition, format('Requests of the sweeps from %s to before %s (UTC).', since, until));
    execute format('alter table warehouse.request attach partition warehouse.%I for values from (%L) to (%L)', partition, since, until);
    return partition;
end
$$
"""


def upgrade() -> None:
    """Bring the schema from 0003 to 0004; every row stays, but derived ones of which no measurement is left."""
    _date_the_sweeps()
    _partition_the_requests()
    _key_by_hardware("speedup", "sweep_id, cell_id, hardware_id, metric")
    _key_by_hardware("verdict", "sweep_id, cell_id, hardware_id")
    op.execute(
        "comment on table warehouse.speedup is 'One row a speedup of a speculative cell over its paired baseline in a sweep on one hardware; > 1 is better.'"
    )
    op.execute(
        "comment on table warehouse.verdict is 'One row a speculative cell in a sweep on one hardware: whether speculation is worth it there.'"
    )


def _date_the_sweeps() -> None:
    op.execute("alter table warehouse.sweep add column sweep_date date")
    op.execute("update warehouse.sweep set sweep_date = (planned_at at time zone 'UTC')::date")
    op.execute("alter table warehouse.sweep alter column sweep_date set not null")
    op.execute(
        "alter table warehouse.sweep add constraint sweep_sweep_date_check "
        "check (sweep_date = (planned_at at time zone 'UTC')::date)"
    )
    op.execute("create index sweep_sweep_date_idx on warehouse.sweep (sweep_date)")
    op.execute("comment on column warehouse.sweep.planned_at is 'When it was planned.'")
    op.execute(
        "comment on column warehouse.sweep.sweep_date is 'Day of planned_at in UTC: the month of it is the partition of its requests.'"
    )


def _partition_the_requests() -> None:
    """Move the rows into partitions. What is staged is of the older layout: those loads have to be ingested again."""
    op.execute("delete from staging.request")
    op.execute("alter table staging.request add column sweep_date date")
    op.execute(
        "comment on column staging.request.sweep_date is 'The sweep''s date (UTC): decides the partition; name it to read only one.'"
    )
    op.execute("alter table warehouse.request rename to request_before")
    op.execute("alter table warehouse.request_before rename constraint request_pkey to request_before_pkey")
    op.execute(
        "alter table warehouse.request_before rename constraint request_measurement_fkey to request_before_measurement_fkey"
    )
    op.execute(
        "create table warehouse.request (like warehouse.request_before including defaults including comments, "
        "sweep_date date not null) partition by range (sweep_date)"
    )
    key = "sweep_id, block_id, start_index, attempt, cell_id, repetition"
    op.execute(
        f"alter table warehouse.request add constraint request_pkey primary key ({key}, request_index, sweep_date)"
    )
    op.execute(
        f"alter table warehouse.request add constraint request_measurement_fkey foreign key ({key}) "
        f"references warehouse.measurement ({key}) on delete cascade"
    )
    op.execute("create index request_sweep_date_idx on warehouse.request using brin (sweep_date)")
    op.execute(
        "comment on table warehouse.request is 'One row a request of a measured window, as the load client saw it. Holds no text. One partition a month of sweep_date (warehouse.ensure_request_partition).'"
    )
    op.execute(
        "comment on column warehouse.request.sweep_date is 'The sweep''s date (UTC): decides the partition; name it to read only one.'"
    )
    op.execute(ENSURE_PARTITION)
    op.execute(
        "comment on function warehouse.ensure_request_partition(date) is "
        "'Makes the partition of warehouse.request for the month of a day, unless it is there; returns its name.'"
    )
    op.execute("revoke execute on function warehouse.ensure_request_partition(date) from public")
    op.execute(
        "select warehouse.ensure_request_partition(sweep_date) from (select distinct sweep_date from warehouse.sweep) as s"
    )
    columns = (
        f"{key}, request_index, prompt_id, seed, ttft_ms, e2e_latency_ms, tpot_ms, prompt_tokens, output_tokens, "
        "first_chunk_tokens, chunks, finish_reason, error, error_detail, text_hash, sent_offset_ms"
    )
    op.execute(
        f"insert into warehouse.request ({columns}, sweep_date) select {columns}, s.sweep_date "
        "from warehouse.request_before inner join warehouse.sweep as s using (sweep_id)"
    )
    op.execute("drop table warehouse.request_before")


def _key_by_hardware(table: str, key: str) -> None:
    """Give each derived row the hardware of its measurements; drop one of several: analysis makes it again, apart."""
    op.execute(f"alter table warehouse.{table} add column hardware_id text")
    op.execute(
        f"update warehouse.{table} as t set hardware_id = m.hardware_id from ("
        "select sweep_id, cell_id, min(hardware_id) as hardware_id from warehouse.measurement "
        "group by sweep_id, cell_id having min(hardware_id) = max(hardware_id)) as m "
        "where t.sweep_id = m.sweep_id and t.cell_id = m.cell_id"
    )
    op.execute(f"delete from warehouse.{table} where hardware_id is null")
    op.execute(f"alter table warehouse.{table} alter column hardware_id set not null")
    op.execute(f"alter table warehouse.{table} drop constraint {table}_pkey")
    op.execute(f"alter table warehouse.{table} add constraint {table}_pkey primary key ({key})")
    op.execute(
        f"alter table warehouse.{table} add constraint {table}_hardware_fkey "
        "foreign key (hardware_id) references warehouse.hardware (hardware_id)"
    )
    op.execute(f"create index {table}_hardware_id_idx on warehouse.{table} (hardware_id)")
    op.execute(f"comment on column warehouse.{table}.hardware_id is 'The machine of both arms.'")


def downgrade() -> None:
    """Refuse: migrations only go forward. Restore a backup instead."""
    raise NotImplementedError
