-- A verdict drawn before the last load of its sweep: analysis did not run again.
select
    v.sweep_id,
    v.cell_id
from warehouse.verdict as v
inner join warehouse.load as l
    on v.sweep_id = l.sweep_id
where l.state in ('published', 'quarantined')
group by
    v.sweep_id,
    v.cell_id,
    v.computed_at
having max(l.decided_at) > v.computed_at;
