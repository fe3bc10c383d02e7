-- What became of every planned cell of a sweep, with the words that identify it.
create or replace view warehouse.cell_status as
select
    o.sweep_id,
    s.planned_at as sweep_at,
    s.matrix_name,
    s.trigger,
    c.engine_id,
    e.version as engine_version,
    e.version_sort,
    e.platform,
    o.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    c.target_name as target,
    c.weights,
    c.method_name,
    m.method,
    m.num_speculative_tokens,
    m.draft,
    m.acceptance,
    w.name as workload,
    w.category,
    c.prompts,
    c.output_tokens,
    c.temperature,
    c.concurrency,
    c.cell_id,
    c.series_id,
    c.baseline_cell_id,
    c.cell_id = c.baseline_cell_id as is_baseline,
    o.status,
    case
        when o.status = 'measured' and baseline.status <> 'measured'
            then 'its baseline was ' || baseline.status || coalesce(': ' || baseline.reason, '')
        else o.reason
    end as reason,
    c.arrival,
    c.request_rate,
    c.prompt_tokens,
    c.guided,
    o.latest
from warehouse.cell_result as o
inner join warehouse.sweep as s
    on o.sweep_id = s.sweep_id
inner join warehouse.cell as c
    on o.cell_id = c.cell_id
inner join warehouse.engine as e
    on c.engine_id = e.engine_id
inner join warehouse.method as m
    on c.method_id = m.method_id
inner join warehouse.workload as w
    on c.workload_id = w.workload_id
inner join warehouse.hardware as h
    on o.hardware_id = h.hardware_id
left join warehouse.cell_result as baseline
    on
        o.sweep_id = baseline.sweep_id
        and c.baseline_cell_id = baseline.cell_id
        and o.hardware_id = baseline.hardware_id;

comment on view warehouse.cell_status is
'One row a sweep, planned cell (baselines too) and hardware: what became of it over all its starts. measured: at least one start measured it; reason then tells of the starts that did not, or of its baseline, and is NULL when all went well.';
