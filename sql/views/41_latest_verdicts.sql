-- Is it worth it, as far as is known today?
create or replace view warehouse.latest_verdicts as
with newest as (
    select distinct on (c.series_id, r.hardware_id)
        r.cell_id,
        r.hardware_id
    from warehouse.cell_result as r
    inner join warehouse.cell as c
        on r.cell_id = c.cell_id
    inner join warehouse.engine as e
        on c.engine_id = e.engine_id
    where r.latest
    order by
        c.series_id,
        r.hardware_id,
        e.version_sort desc
)

select
    v.sweep_id,
    v.sweep_at,
    v.matrix_name,
    v.trigger,
    v.engine_id,
    v.engine_version,
    v.version_sort,
    v.platform,
    v.hardware_id,
    v.hardware_kind,
    v.hardware_label,
    v.target,
    v.weights,
    v.method_name,
    v.method,
    v.num_speculative_tokens,
    v.draft,
    v.acceptance,
    v.workload,
    v.category,
    v.prompts,
    v.output_tokens,
    v.temperature,
    v.concurrency,
    v.cell_id,
    v.series_id,
    v.baseline_cell_id,
    v.status,
    v.reason,
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
    v.pairs,
    v.dropped_prompts,
    v.arm_starts,
    v.baseline_starts,
    v.start_variance_source,
    v.decode_speedup,
    v.decode_lower,
    v.decode_upper,
    v.throughput_speedup,
    v.throughput_lower,
    v.throughput_upper,
    v.acceptance_rate,
    v.mean_acceptance_length,
    v.tokens_per_step,
    v.baseline_value,
    v.speculative_value,
    v.unit,
    v.repetitions,
    v.prefill_share,
    v.arrival,
    v.request_rate,
    v.prompt_tokens,
    v.guided,
    v.step_time_ms,
    v.goodput_per_s,
    n.cell_id is not null as newest_engine
from warehouse.verdicts as v
left join newest as n
    on
        v.cell_id = n.cell_id
        and v.hardware_id = n.hardware_id
where v.latest;

comment on view warehouse.latest_verdicts is
'One row a series, engine and hardware: the speculative cell in the latest sweep that planned it; columns as in verdicts. newest_engine: no newer release of the series was measured on that hardware. Failed, skipped and quarantined cells appear with a NULL verdict and their reason.';
