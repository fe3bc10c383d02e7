-- A speedup drawn from measurements on two machines: they are never compared.
select
    s.sweep_id,
    s.cell_id,
    s.metric
from warehouse.speedup as s
inner join warehouse.cell as c
    on s.cell_id = c.cell_id
inner join warehouse.measurement as m
    on
        s.sweep_id = m.sweep_id
        and m.cell_id in (c.cell_id, c.baseline_cell_id)
group by
    s.sweep_id,
    s.cell_id,
    s.metric
having count(distinct m.hardware_id) > 1;
