-- How did the speedup move from one vLLM release to the next, and which arm moved?
create or replace view warehouse.trend_by_version as
select
    c.series_id,
    c.hardware_id,
    c.sweep_id,
    c.engine_version,
    c.engine_id,
    c.version_sort,
    c.sweep_at,
    c.matrix_name,
    c.trigger,
    c.platform,
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
    c.baseline_cell_id,
    c.status,
    c.reason,
    v.verdict,
    v.harmful,
    v.margin,
    latency.estimate as latency_speedup,
    latency.lower as latency_lower,
    latency.upper as latency_upper,
    decode.estimate as decode_speedup,
    decode.lower as decode_lower,
    decode.upper as decode_upper,
    throughput.estimate as throughput_speedup,
    throughput.lower as throughput_lower,
    throughput.upper as throughput_upper,
    latency.pairs,
    c.repetitions,
    c.starts as arm_starts,
    coalesce(c.baseline_starts, 0) as baseline_starts,
    c.baseline_output_tokens_per_s,
    c.speculative_output_tokens_per_s,
    c.baseline_tpot_mean_ms,
    c.speculative_tpot_mean_ms,
    c.acceptance_rate,
    c.mean_acceptance_length,
    c.tokens_per_step,
    c.baseline_step_time_ms,
    c.speculative_step_time_ms,
    c.baseline_model_runner,
    c.speculative_model_runner,
    c.baseline_async_scheduling,
    c.speculative_async_scheduling,
    c.baseline_attention_backend,
    c.speculative_attention_backend,
    c.arrival,
    c.request_rate,
    c.prompt_tokens,
    c.guided,
    v.aa_log_ratio,
    latency.start_variance_source,
    latency.dropped_prompts,
    latency.baseline_value as baseline_ms_per_token,
    latency.speculative_value as speculative_ms_per_token,
    c.baseline_ttft_mean_ms,
    c.speculative_ttft_mean_ms,
    c.baseline_goodput_per_s,
    c.speculative_goodput_per_s,
    v.computed_at,
    c.stands_for_release
from warehouse.cell_beside_baseline as c
left join warehouse.verdict as v
    on
        c.sweep_id = v.sweep_id
        and c.cell_id = v.cell_id
        and c.hardware_id = v.hardware_id
        and c.status = 'measured'
left join warehouse.speedup as latency
    on
        v.sweep_id = latency.sweep_id
        and v.cell_id = latency.cell_id
        and v.hardware_id = latency.hardware_id
        and latency.metric = 'latency_speedup'
left join warehouse.speedup as decode
    on
        v.sweep_id = decode.sweep_id
        and v.cell_id = decode.cell_id
        and v.hardware_id = decode.hardware_id
        and decode.metric = 'decode_speedup'
left join warehouse.speedup as throughput
    on
        v.sweep_id = throughput.sweep_id
        and v.cell_id = throughput.cell_id
        and v.hardware_id = throughput.hardware_id
        and throughput.metric = 'throughput_speedup'
where not c.is_baseline;

comment on view warehouse.trend_by_version is
'One row a series, hardware, sweep and engine version: speedups with 95% bounds, and both arms'' own figures (tokens/s, ms, pooled over repetitions) with what their engines logged, so that a change can be given to the arm that moved. NULL where not measured: a failed night stays a hole with its reason.';
