-- Mark, of the latest sweeps of the series that some cells are of, the one of the newest release on each machine.
with found as (
    select
        o.sweep_id,
        o.cell_id,
        o.hardware_id,
        o.latest
        and row_number() over (
            partition by c.series_id, c.baseline_cell_id = c.cell_id, o.hardware_id, o.latest
            order by e.version_sort desc
        ) = 1 as newest
    from warehouse.cell_result as o
    inner join warehouse.cell as c
        on o.cell_id = c.cell_id
    inner join warehouse.engine as e
        on c.engine_id = e.engine_id
    where
        (o.latest or o.newest_engine)
        and c.series_id in (
            select t.series_id
            from warehouse.cell as t
            where t.cell_id = any(:cells)
        )
)

update warehouse.cell_result as r
set newest_engine = found.newest
from found
where
    r.sweep_id = found.sweep_id
    and r.cell_id = found.cell_id
    and r.hardware_id = found.hardware_id
    and r.newest_engine <> found.newest;
