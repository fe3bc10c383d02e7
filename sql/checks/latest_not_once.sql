-- A cell that has no latest sweep on a machine, or two; or so many that stand for its release.
select
    r.cell_id,
    r.hardware_id,
    count(*) filter (where r.latest) as latest_sweeps,
    count(*) filter (where r.stands_for_release) as standing_sweeps
from warehouse.cell_result as r
group by
    r.cell_id,
    r.hardware_id
having
    count(*) filter (where r.latest) <> 1
    or count(*) filter (where r.stands_for_release) <> 1;
