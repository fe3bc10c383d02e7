-- What became of every planned cell of a sweep, with the words that identify it.
create or replace view warehouse.cell_status as
select
    c.sweep_id,
    c.sweep_at,
    c.matrix_name,
    c.trigger,
    c.engine_id,
    c.engine_version,
    c.version_sort,
    c.platform,
    c.hardware_id,
    c.hardware_kind,
    c.hardware_label,
    c.target,
    c.weights,
    c.method_name,
    c.method,
    c.num_speculative_tokens,
    c.draft,
    c.acceptance,
    c.workload,
    c.category,
    c.prompts,
    c.output_tokens,
    c.temperature,
    c.concurrency,
    c.cell_id,
    c.series_id,
    c.baseline_cell_id,
    c.is_baseline,
    c.status,
    c.reason,
    c.arrival,
    c.request_rate,
    c.prompt_tokens,
    c.guided,
    c.latest
from warehouse.cell_beside_baseline as c;

comment on view warehouse.cell_status is
'One row a sweep, planned cell (baselines too) and hardware: what became of it over all its starts. measured: at least one start measured it; reason then tells of the starts that did not, or of its baseline, and is NULL when all went well.';
