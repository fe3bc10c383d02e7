-- A cell result that counts other repetitions than there are: a summary was not kept.
with counted as (
    select
        m.sweep_id,
        m.cell_id,
        m.hardware_id,
        count(*) as repetitions
    from warehouse.measurement as m
    group by
        m.sweep_id,
        m.cell_id,
        m.hardware_id
)

select
    coalesce(r.sweep_id, m.sweep_id) as sweep_id,
    coalesce(r.cell_id, m.cell_id) as cell_id,
    r.repetitions as summarized,
    m.repetitions as measured
from warehouse.cell_result as r
full outer join counted as m
    on
        r.sweep_id = m.sweep_id
        and r.cell_id = m.cell_id
        and r.hardware_id = m.hardware_id
where coalesce(r.repetitions, -1) <> coalesce(m.repetitions, 0);
