-- A speedup of a cell of which one arm was not measured in that sweep on that machine, or of a baseline.
select
    s.sweep_id,
    s.cell_id,
    s.hardware_id,
    s.metric
from warehouse.speedup as s
inner join warehouse.cell as c
    on s.cell_id = c.cell_id
where
    not exists (
        select 1
        from warehouse.measurement as arm
        where
            arm.sweep_id = s.sweep_id
            and arm.cell_id = s.cell_id
            and arm.hardware_id = s.hardware_id
    )
    or not exists (
        select 1
        from warehouse.measurement as baseline
        where
            baseline.sweep_id = s.sweep_id
            and baseline.cell_id = c.baseline_cell_id
            and baseline.hardware_id = s.hardware_id
    )
    or c.cell_id = c.baseline_cell_id;
