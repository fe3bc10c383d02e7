-- A measurement whose cell has no outcome `measured` in that start: it escaped the gate, or its outcome was lost.
select
    m.sweep_id,
    m.block_id,
    m.start_index,
    m.cell_id,
    m.repetition
from warehouse.measurement as m
left join warehouse.cell_outcome as o
    on
        m.sweep_id = o.sweep_id
        and m.block_id = o.block_id
        and m.start_index = o.start_index
        and m.cell_id = o.cell_id
where o.status is null or o.status in ('skipped', 'quarantined');
