-- What went wrong, in which release, since when?
create or replace view warehouse.incidents as
select
    b.engine_id,
    e.version as engine_version,
    e.version_sort,
    b.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    o.status,
    coalesce(o.failure, 'none') as failure,
    o.reason,
    count(*) as outcomes,
    count(distinct o.cell_id) as cells,
    count(distinct o.sweep_id) as sweeps,
    min(s.planned_at) as first_sweep_at,
    max(s.planned_at) as last_sweep_at,
    (array_agg(o.sweep_id order by s.planned_at desc, o.sweep_id desc))[1] as last_sweep_id,
    string_agg(distinct c.method_name, ', ' order by c.method_name) as methods
from warehouse.cell_outcome as o
inner join warehouse.block as b
    on
        o.sweep_id = b.sweep_id
        and o.block_id = b.block_id
inner join warehouse.sweep as s
    on o.sweep_id = s.sweep_id
inner join warehouse.cell as c
    on o.cell_id = c.cell_id
inner join warehouse.engine as e
    on b.engine_id = e.engine_id
inner join warehouse.hardware as h
    on b.hardware_id = h.hardware_id
where o.status in ('failed', 'quarantined')
group by
    b.engine_id,
    e.version,
    e.version_sort,
    b.hardware_id,
    h.kind,
    h.label,
    o.status,
    o.failure,
    o.reason;

comment on view warehouse.incidents is
'One row an engine, hardware, status (failed or quarantined), class of failure and reason: how many outcomes of planned starts, cells and sweeps, and from when to when.';
