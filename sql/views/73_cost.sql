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
    baseline.joules_per_output_token as baseline_joules_per_output_token,
    arm.joules_per_output_token as speculative_joules_per_output_token,
    baseline.joules_per_output_token / nullif(arm.joules_per_output_token, 0) as energy_saving,
    arm.usd_per_gpu_hour,
    baseline.usd_per_million_output_tokens as baseline_usd_per_million_output_tokens,
    arm.usd_per_million_output_tokens as speculative_usd_per_million_output_tokens,
    baseline.usd_per_million_output_tokens / nullif(arm.usd_per_million_output_tokens, 0) as money_saving,
    baseline.output_tokens_per_s as baseline_output_tokens_per_s,
    arm.output_tokens_per_s as speculative_output_tokens_per_s
from warehouse.cell_status as c
inner join warehouse.cell_result as arm
    on
        c.sweep_id = arm.sweep_id
        and c.cell_id = arm.cell_id
        and c.hardware_id = arm.hardware_id
left join warehouse.cell_result as baseline
    on
        c.sweep_id = baseline.sweep_id
        and c.baseline_cell_id = baseline.cell_id
        and c.hardware_id = baseline.hardware_id
where
    not c.is_baseline
    and c.status = 'measured';

comment on view warehouse.cost is
'One row a sweep, measured speculative cell and hardware: J and USD an output token in both arms, as pooled over repetitions, and their ratio baseline / speculative (> 1: speculation is cheaper). NULL where no energy was read or no price was stated. No interval: not a verdict.';
