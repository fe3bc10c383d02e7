-- Mark the last sweep of each of some cells on each machine, and the one that stands for the cell's release.
update warehouse.cell_result as r
set
    latest = found.latest,
    stands_for_release = found.stands
from (
    select
        o.sweep_id,
        o.cell_id,
        o.hardware_id,
        row_number() over (
            partition by o.cell_id, o.hardware_id
            order by o.planned_at desc, o.sweep_id desc
        ) = 1 as latest,
        row_number() over (
            partition by o.cell_id, o.hardware_id
            order by s.estimate is null, o.planned_at desc, o.sweep_id desc
        ) = 1 as stands
    from warehouse.cell_result as o
    left join warehouse.speedup as s
        on
            o.sweep_id = s.sweep_id
            and o.cell_id = s.cell_id
            and o.hardware_id = s.hardware_id
            and s.metric = 'latency_speedup'
    where o.cell_id = any(:cells)
) as found
where
    r.sweep_id = found.sweep_id
    and r.cell_id = found.cell_id
    and r.hardware_id = found.hardware_id
    and (r.latest, r.stands_for_release) <> (found.latest, found.stands);
