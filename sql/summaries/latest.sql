-- Mark the last sweep of each of some cells on each machine.
update warehouse.cell_result as r
set latest = found.latest
from (
    select
        o.sweep_id,
        o.cell_id,
        o.hardware_id,
        row_number() over (
            partition by o.cell_id, o.hardware_id
            order by o.planned_at desc, o.sweep_id desc
        ) = 1 as latest
    from warehouse.cell_result as o
    where o.cell_id = any(:cells)
) as found
where
    r.sweep_id = found.sweep_id
    and r.cell_id = found.cell_id
    and r.hardware_id = found.hardware_id
    and r.latest <> found.latest;
