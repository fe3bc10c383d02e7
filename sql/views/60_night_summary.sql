-- What happened in each sweep, in one line.
create or replace view warehouse.night_summary as
with verdicts as (
    select
        v.sweep_id,
        v.hardware_id,
        count(*) filter (where v.verdict = 'worth_it') as worth_it,
        count(*) filter (where v.verdict = 'not_worth_it') as not_worth_it,
        count(*) filter (where v.verdict = 'undecided') as undecided,
        count(*) filter (where v.harmful) as harmful,
        count(*) filter (where v.verdict is null) as without_verdict
    from warehouse.verdicts as v
    group by
        v.sweep_id,
        v.hardware_id
),

noise as (
    select
        n.sweep_id,
        n.hardware_id,
        (array_agg(n.aa_log_ratio order by abs(n.aa_log_ratio) desc))[1] as worst_aa_log_ratio
    from warehouse.noise_floor as n
    where n.aa_log_ratio is not null
    group by
        n.sweep_id,
        n.hardware_id
)

select
    c.sweep_id,
    c.sweep_at,
    c.matrix_name,
    c.trigger,
    c.hardware_id,
    c.hardware_kind,
    c.hardware_label,
    count(*) as cells,
    count(*) filter (where c.status = 'measured') as measured,
    count(*) filter (where c.status = 'skipped') as skipped,
    count(*) filter (where c.status = 'failed') as failed,
    count(*) filter (where c.status = 'quarantined') as quarantined,
    coalesce(v.worth_it, 0) as worth_it,
    coalesce(v.not_worth_it, 0) as not_worth_it,
    coalesce(v.undecided, 0) as undecided,
    coalesce(v.harmful, 0) as harmful,
    coalesce(v.without_verdict, 0) as without_verdict,
    n.worst_aa_log_ratio
from warehouse.cell_status as c
left join verdicts as v
    on
        c.sweep_id = v.sweep_id
        and c.hardware_id = v.hardware_id
left join noise as n
    on
        c.sweep_id = n.sweep_id
        and c.hardware_id = n.hardware_id
group by
    c.sweep_id,
    c.sweep_at,
    c.matrix_name,
    c.trigger,
    c.hardware_id,
    c.hardware_kind,
    c.hardware_label,
    v.worth_it,
    v.not_worth_it,
    v.undecided,
    v.harmful,
    v.without_verdict,
    n.worst_aa_log_ratio;

comment on view warehouse.night_summary is
'One row a sweep and hardware (one row a sweep unless it ran on several): planned cells by outcome (baselines count as cells), speculative cells by verdict, and the A/A log ratio farthest from 0 (NULL when no block has both baselines).';
