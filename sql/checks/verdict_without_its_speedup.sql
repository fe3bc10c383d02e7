-- A verdict whose speedup is missing or says something else.
select
    v.sweep_id,
    v.cell_id,
    v.hardware_id
from warehouse.verdict as v
left join warehouse.speedup as s
    on
        v.sweep_id = s.sweep_id
        and v.cell_id = s.cell_id
        and v.hardware_id = s.hardware_id
        and v.metric = s.metric
where s.estimate is distinct from v.estimate;
