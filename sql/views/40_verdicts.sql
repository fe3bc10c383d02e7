-- Is it worth it? Every speculative cell of every sweep, also those that could not be measured.
create or replace view warehouse.verdicts as
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
    c.status,
    c.reason,
    v.verdict,
    v.harmful,
    v.margin,
    v.metric,
    v.estimate,
    v.lower,
    v.upper,
    v.probability_of_loss,
    v.blocks_to_decide,
    v.aa_log_ratio,
    v.reasons,
    judged.pairs,
    judged.dropped_prompts,
    judged.arm_starts,
    judged.baseline_starts,
    judged.start_variance_source,
    decode.estimate as decode_speedup,
    decode.lower as decode_lower,
    decode.upper as decode_upper,
    throughput.estimate as throughput_speedup,
    throughput.lower as throughput_lower,
    throughput.upper as throughput_upper,
    c.acceptance_rate,
    c.mean_acceptance_length,
    c.tokens_per_step,
    judged.baseline_value,
    judged.speculative_value,
    judged.unit,
    c.repetitions,
    c.prefill_share,
    c.arrival,
    c.request_rate,
    c.prompt_tokens,
    c.guided,
    c.latest,
    c.speculative_step_time_ms as step_time_ms,
    c.speculative_goodput_per_s as goodput_per_s,
    c.newest_engine
from warehouse.cell_beside_baseline as c
left join warehouse.verdict as v
    on
        c.sweep_id = v.sweep_id
        and c.cell_id = v.cell_id
        and c.hardware_id = v.hardware_id
        and c.status = 'measured'
left join warehouse.speedup as judged
    on
        v.sweep_id = judged.sweep_id
        and v.cell_id = judged.cell_id
        and v.hardware_id = judged.hardware_id
        and v.metric = judged.metric
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

comment on view warehouse.verdicts is
'One row a sweep, speculative cell and hardware: the verdict with its interval, both arms'' figures (in unit), acceptance pooled over repetitions. A cell that was skipped, failed or quarantined has a NULL verdict and its reason; acceptance is NULL when nothing was drafted.';
