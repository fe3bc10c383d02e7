-- What happened in each sweep, in one line.
create or replace view warehouse.night_summary as
select
    r.sweep_id,
    s.planned_at as sweep_at,
    s.matrix_name,
    s.trigger,
    r.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    r.cells,
    r.measured,
    r.skipped,
    r.failed,
    r.quarantined,
    r.worth_it,
    r.not_worth_it,
    r.undecided,
    r.harmful,
    r.without_verdict,
    r.worst_aa_log_ratio
from warehouse.sweep_result as r
inner join warehouse.sweep as s
    on r.sweep_id = s.sweep_id
inner join warehouse.hardware as h
    on r.hardware_id = h.hardware_id;

comment on view warehouse.night_summary is
'One row a sweep and hardware (one row a sweep unless it ran on several): planned cells by outcome (baselines count as cells), speculative cells by verdict, and the A/A log ratio farthest from 0 (NULL when no block has both baselines).';
