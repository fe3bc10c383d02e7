-- How far into a draft does acceptance reach? By position: of all drafts, and of those that got there.
create or replace view warehouse.acceptance_profile as
select
    p.sweep_id,
    s.planned_at as sweep_at,
    c.engine_id,
    e.version as engine_version,
    e.version_sort,
    p.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    c.target_name as target,
    c.weights,
    c.method_name,
    m.method,
    m.num_speculative_tokens,
    m.acceptance,
    w.name as workload,
    w.category,
    c.temperature,
    c.concurrency,
    c.request_rate,
    c.prompt_tokens,
    c.guided,
    p.cell_id,
    c.series_id,
    p.draft_position,
    p.drafts,
    p.accepted,
    p.accepted::double precision / nullif(p.drafts, 0) as unconditional,
    p.accepted::double precision / nullif(
        case
            when p.draft_position = 0 then p.drafts
            else lag(p.accepted) over (
                partition by
                    p.sweep_id,
                    p.cell_id,
                    p.hardware_id
                order by p.draft_position
            )
        end, 0
    ) as conditional
from (
    select
        a.sweep_id,
        a.cell_id,
        n.hardware_id,
        a.draft_position,
        sum(a.drafts)::bigint as drafts,
        sum(a.accepted)::bigint as accepted
    from warehouse.acceptance_position as a
    inner join warehouse.measurement as n
        on
            a.sweep_id = n.sweep_id
            and a.block_id = n.block_id
            and a.start_index = n.start_index
            and a.attempt = n.attempt
            and a.cell_id = n.cell_id
            and a.repetition = n.repetition
    group by
        a.sweep_id,
        a.cell_id,
        n.hardware_id,
        a.draft_position
) as p
inner join warehouse.sweep as s
    on p.sweep_id = s.sweep_id
inner join warehouse.cell as c
    on p.cell_id = c.cell_id
inner join warehouse.engine as e
    on c.engine_id = e.engine_id
inner join warehouse.hardware as h
    on p.hardware_id = h.hardware_id
inner join warehouse.method as m
    on c.method_id = m.method_id
inner join warehouse.workload as w
    on c.workload_id = w.workload_id;

comment on view warehouse.acceptance_profile is
'One row a sweep, cell, hardware and draft position: counters summed over its repetitions. NULL when no draft was made, or none got as far.';
