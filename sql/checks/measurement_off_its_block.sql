-- A measurement made on another machine than its block: its arms would be compared across hardware.
select
    m.sweep_id,
    m.block_id,
    m.start_index,
    m.attempt,
    m.cell_id,
    m.repetition
from warehouse.measurement as m
inner join warehouse.block as b
    on
        m.sweep_id = b.sweep_id
        and m.block_id = b.block_id
where m.hardware_id <> b.hardware_id;
