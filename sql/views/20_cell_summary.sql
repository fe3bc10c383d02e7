-- What a cell did in a sweep, all its repetitions pooled: counters are summed before they are divided.
create or replace view warehouse.cell_summary as
select
    r.sweep_id,
    r.cell_id,
    r.hardware_id,
    r.repetitions,
    r.starts,
    r.requests,
    r.failed_requests,
    r.output_tokens,
    r.output_tokens_per_s,
    r.ttft_mean_ms,
    r.tpot_mean_ms,
    r.prefill_share,
    r.drafts,
    r.drafted_tokens,
    r.accepted_tokens,
    r.acceptance_rate,
    r.mean_acceptance_length,
    r.tokens_per_step,
    r.step_time_ms,
    r.model_runner,
    r.async_scheduling,
    r.attention_backend,
    r.kv_cache_tokens,
    r.goodput_per_s,
    r.joules_per_output_token,
    r.usd_per_million_output_tokens,
    r.model_memory_bytes,
    r.throttled_share
from warehouse.cell_result as r
where r.repetitions > 0;

comment on view warehouse.cell_summary is
'One row a sweep, cell and hardware with at least one measurement: its repetitions pooled, acceptance and steps from summed counters (NULL when nothing was drafted or counted), and what its server starts logged (several values are listed; async_scheduling is NULL when they differ).';
