-- A cell that has no latest sweep on a machine, or two.
select
    r.cell_id,
    r.hardware_id,
    count(*) filter (where r.latest) as latest_sweeps
from warehouse.cell_result as r
group by
    r.cell_id,
    r.hardware_id
having count(*) filter (where r.latest) <> 1;
