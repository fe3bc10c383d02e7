-- A verdict about a cell that was skipped, failed or was quarantined there.
select
    v.sweep_id,
    v.cell_id,
    v.hardware_id,
    r.status
from warehouse.verdict as v
left join warehouse.cell_result as r
    on
        v.sweep_id = r.sweep_id
        and v.cell_id = r.cell_id
        and v.hardware_id = r.hardware_id
where r.status is distinct from 'measured';
