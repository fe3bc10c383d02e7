-- What did each planned cell do in a sweep, beside its baseline? The words that identify it, and both arms' figures.
create or replace view warehouse.cell_beside_baseline as
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
    c.arrival,
    c.request_rate,
    c.prompt_tokens,
    c.guided,
    c.cell_id,
    c.series_id,
    c.baseline_cell_id,
    c.cell_id = c.baseline_cell_id as is_baseline,
    o.latest,
    o.stands_for_release,
    o.newest_engine,
    o.status,
    case
        when o.status = 'measured' and baseline.status <> 'measured'
            then 'its baseline was ' || baseline.status || coalesce(': ' || baseline.reason, '')
        else o.reason
    end as reason,
    o.repetitions,
    o.starts,
    o.acceptance_rate,
    o.mean_acceptance_length,
    o.tokens_per_step,
    o.prefill_share,
    o.model_memory_tax_bytes,
    o.kv_cache_tokens_lost,
    o.users_lost,
    o.usd_per_gpu_hour,
    baseline.starts as baseline_starts,
    baseline.output_tokens_per_s as baseline_output_tokens_per_s,
    o.output_tokens_per_s as speculative_output_tokens_per_s,
    baseline.ttft_mean_ms as baseline_ttft_mean_ms,
    o.ttft_mean_ms as speculative_ttft_mean_ms,
    baseline.tpot_mean_ms as baseline_tpot_mean_ms,
    o.tpot_mean_ms as speculative_tpot_mean_ms,
    baseline.goodput_per_s as baseline_goodput_per_s,
    o.goodput_per_s as speculative_goodput_per_s,
    baseline.step_time_ms as baseline_step_time_ms,
    o.step_time_ms as speculative_step_time_ms,
    baseline.joules_per_output_token as baseline_joules_per_output_token,
    o.joules_per_output_token as speculative_joules_per_output_token,
    baseline.usd_per_million_output_tokens as baseline_usd_per_million_output_tokens,
    o.usd_per_million_output_tokens as speculative_usd_per_million_output_tokens,
    baseline.kv_cache_tokens as baseline_kv_cache_tokens,
    o.kv_cache_tokens as speculative_kv_cache_tokens,
    baseline.model_runner as baseline_model_runner,
    o.model_runner as speculative_model_runner,
    baseline.async_scheduling as baseline_async_scheduling,
    o.async_scheduling as speculative_async_scheduling,
    baseline.attention_backend as baseline_attention_backend,
    o.attention_backend as speculative_attention_backend
from warehouse.cell_result as o
inner join warehouse.cell as c
    on o.cell_id = c.cell_id
inner join warehouse.sweep as s
    on o.sweep_id = s.sweep_id
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

comment on view warehouse.cell_beside_baseline is
'One row a sweep, planned cell (baselines too) and hardware: what became of it over all its starts, what it did and what its baseline did there, repetitions pooled. verdicts, trend_by_version, vram_tax and cost are made of it.';
