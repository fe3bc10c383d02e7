-- How far do drafts reach? The position from which fewer than half of the drafts that got there are accepted.
select
    a.hardware_label,
    a.engine_version,
    a.target,
    a.method_name,
    a.workload,
    a.num_speculative_tokens,
    min(a.draft_position) filter (where a.conditional < 0.5) as first_position_below_half
from warehouse.acceptance_profile as a
where a.acceptance = 'real'
group by
    a.sweep_id,
    a.hardware_label,
    a.engine_version,
    a.target,
    a.method_name,
    a.workload,
    a.num_speculative_tokens,
    a.cell_id;
