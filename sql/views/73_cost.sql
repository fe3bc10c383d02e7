-- What does a token cost, in energy and in money, with and without speculation?
create or replace view warehouse.cost as
select
    c.sweep_id,
    c.sweep_at,
    c.engine_id,
    c.engine_version,
    c.version_sort,
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
    c.prompt_tokens,
    c.output_tokens,
    c.temperature,
    c.concurrency,
    c.request_rate,
    c.guided,
    c.cell_id,
    c.series_id,
    c.latest,
    c.baseline_joules_per_output_token,
    c.speculative_joules_per_output_token,
    c.baseline_joules_per_output_token / nullif(c.speculative_joules_per_output_token, 0) as energy_saving,
    c.usd_per_gpu_hour,
    c.baseline_usd_per_million_output_tokens,
    c.speculative_usd_per_million_output_tokens,
    c.baseline_usd_per_million_output_tokens / nullif(c.speculative_usd_per_million_output_tokens, 0) as money_saving,
    c.baseline_output_tokens_per_s,
    c.speculative_output_tokens_per_s
from warehouse.cell_beside_baseline as c
where
    not c.is_baseline
    and c.status = 'measured';

comment on view warehouse.cost is
'One row a sweep, measured speculative cell and hardware: J and USD an output token in both arms, as pooled over repetitions, and their ratio baseline / speculative (> 1: speculation is cheaper). NULL where no energy was read or no price was stated. No interval: not a verdict.';
