-- One sweep on each machine in one line: cells by outcome, speculative ones by verdict, and its noise.
with noise as (
    select
        a.hardware_id,
        (array_agg(a.aa_log_ratio order by abs(a.aa_log_ratio) desc))[1] as worst_aa_log_ratio
    from warehouse.aa_pair as a
    where
        a.sweep_id = :sweep_id
        and a.aa_log_ratio is not null
    group by a.hardware_id
)

select
    r.sweep_id,
    r.hardware_id,
    r.planned_at,
    n.worst_aa_log_ratio,
    count(*) as cells,
    count(*) filter (where r.status = 'measured') as measured,
    count(*) filter (where r.status = 'skipped') as skipped,
    count(*) filter (where r.status = 'failed') as failed,
    count(*) filter (where r.status = 'quarantined') as quarantined,
    count(*) filter (where v.verdict = 'worth_it') as worth_it,
    count(*) filter (where v.verdict = 'not_worth_it') as not_worth_it,
    count(*) filter (where v.verdict = 'undecided') as undecided,
    count(*) filter (where v.harmful) as harmful,
    count(*) filter (where v.verdict is null and c.cell_id <> c.baseline_cell_id) as without_verdict
from warehouse.cell_result as r
inner join warehouse.cell as c
    on r.cell_id = c.cell_id
left join warehouse.verdict as v
    on
        r.sweep_id = v.sweep_id
        and r.cell_id = v.cell_id
        and r.hardware_id = v.hardware_id
        and r.status = 'measured'
left join noise as n
    on r.hardware_id = n.hardware_id
where r.sweep_id = :sweep_id
group by
    r.sweep_id,
    r.hardware_id,
    r.planned_at,
    n.worst_aa_log_ratio;
