"""The SQL that moves staged rows into their tables: rows that are there alike are left alone, not even locked."""
# ruff: noqa: S608 - every name in these statements comes from our own tables; every value is bound

from collections.abc import Sequence

from sqlalchemy import Table


def key_of(table: Table) -> list[str]:
    """Return the columns of the natural key."""
    return [column.name for column in table.primary_key.columns]


def upsert_documents(table: Table) -> str:
    """Return SQL that publishes a small table's documents of :load_id."""
    columns = [column.name for column in table.columns]
    return (
        f"insert into {table.fullname} ({', '.join(columns)}) "
        f"select {', '.join(f'r.{name}' for name in columns)} from staging.document as d "
        f"cross join lateral jsonb_populate_record(null::{table.fullname}, d.document) as r "
        f"where d.load_id = :load_id and d.table_name = '{table.name}' "
        f"and not exists (select 1 from {table.fullname} as t where {same_row(table, columns, 'r')}) "
        f"order by {', '.join(f'r.{name}' for name in key_of(table))} {on_conflict(table, columns)}"
    )


def is_there(table: Table) -> str:
    """Return SQL that says whether the table has a row of the block."""
    return f"select exists (select 1 from {table.fullname} as t where {_of_the_block(table)})"


def insert_staged(table: Table) -> str:
    """Return SQL that publishes a large table's staged rows of :load_id, but those of the cells in :cells.

    For a block of which nothing is there: twice as fast as looking for each row, and nothing can conflict while the
    block is locked.
    """
    columns = [column.name for column in table.columns]
    return (
        f"insert into {table.fullname} ({', '.join(columns)}) "
        f"select {', '.join(f's.{name}' for name in columns)} from staging.{table.name} as s "
        "where s.load_id = :load_id and not s.cell_id = any(:cells)"
    )


def upsert_staged(table: Table) -> str:
    """Return SQL that does the same for a block of which something is there."""
    columns = [column.name for column in table.columns]
    return (
        f"{insert_staged(table)} "
        f"and not exists (select 1 from {table.fullname} as t "
        f"where {_of_the_block(table)} and {same_row(table, columns, 's')}) "
        f"{on_conflict(table, columns)}"
    )


def delete_gone(table: Table) -> str:
    """Return SQL that deletes what the block's table has and :load_id does not hold, or holds for a cell in :cells."""
    same = " and ".join(f"s.{name} = t.{name}" for name in key_of(table))
    return (
        f"delete from {table.fullname} as t where {_of_the_block(table)} and (t.cell_id = any(:cells) or not exists ("
        f"select 1 from staging.{table.name} as s where s.load_id = :load_id and {same}))"
    )


def _of_the_block(table: Table) -> str:
    """Return the condition that a row `t` is of the block being published; it decides the partition, too."""
    dated = " and t.sweep_date = :sweep_date" if "sweep_date" in table.columns else ""
    return f"t.sweep_id = :sweep_id and t.block_id = :block_id{dated}"


def same_row(table: Table, columns: Sequence[str], other: str) -> str:
    """Return the condition that row `t` has the key of `other` and differs from it in none of `columns`."""
    key = key_of(table)
    rest = [name for name in columns if name not in key]
    conditions = [f"t.{name} = {other}.{name}" for name in key]
    if rest:
        there, here = (", ".join(f"{row}.{name}" for name in rest) for row in ("t", other))
        conditions.append(f"row({there}) is not distinct from row({here})")
    return " and ".join(conditions)


def on_conflict(table: Table, columns: Sequence[str]) -> str:
    """Return the clause that rewrites `columns` of a row which is there and differs in one of them."""
    key = key_of(table)
    rest = [name for name in columns if name not in key]
    if not rest:
        return f"on conflict ({', '.join(key)}) do nothing"
    before = ", ".join(f"{table.name}.{name}" for name in rest)
    after = ", ".join(f"excluded.{name}" for name in rest)
    changes = ", ".join(f"{name} = excluded.{name}" for name in rest)
    return f"on conflict ({', '.join(key)}) do update set {changes} where row({before}) is distinct from row({after})"
