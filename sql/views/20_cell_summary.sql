-- What a cell did in a sweep, all its repetitions pooled: counters are summed before they are divided.
create or replace view warehouse.cell_summary as
select
    m.sweep_id,
    m.cell_id,
    m.hardware_id,
    count(*) as repetitions,
    count(distinct row(m.block_id, m.start_index, m.attempt)) as starts,
    sum(m.requests)::bigint as requests,
    sum(m.failed_requests)::bigint as failed_requests,
    sum(m.output_tokens)::bigint as output_tokens,
    sum(m.output_tokens) / nullif(sum(m.window_s), 0) as output_tokens_per_s,
    sum(m.ttft_mean_ms * (m.requests - m.failed_requests))
    / nullif(sum(m.requests - m.failed_requests) filter (where m.ttft_mean_ms is not null), 0) as ttft_mean_ms,
    sum(m.tpot_mean_ms * (m.requests - m.failed_requests))
    / nullif(sum(m.requests - m.failed_requests) filter (where m.tpot_mean_ms is not null), 0) as tpot_mean_ms,
    sum(m.ttft_mean_ms * (m.requests - m.failed_requests))
    / nullif(sum(m.e2e_latency_mean_ms * (m.requests - m.failed_requests)), 0) as prefill_share,
    sum(m.drafts)::bigint as drafts,
    sum(m.drafted_tokens)::bigint as drafted_tokens,
    sum(m.accepted_tokens)::bigint as accepted_tokens,
    sum(m.accepted_tokens)::double precision / nullif(sum(m.drafted_tokens), 0) as acceptance_rate,
    1 + sum(m.accepted_tokens)::double precision / nullif(sum(m.drafts), 0) as mean_acceptance_length,
    sum(m.server_output_tokens - m.requests) filter (where m.engine_steps is not null)::double precision
    / nullif(sum(m.engine_steps) filter (where m.server_output_tokens is not null), 0) as tokens_per_step,
    sum(m.step_time_ms * m.engine_steps)
    / nullif(sum(m.engine_steps) filter (where m.step_time_ms is not null), 0) as step_time_ms,
    string_agg(distinct s.model_runner, ', ' order by s.model_runner) as model_runner,
    case
        when bool_and(s.async_scheduling) = bool_or(s.async_scheduling) then bool_and(s.async_scheduling)
    end as async_scheduling,
    string_agg(distinct s.attention_backend, ', ' order by s.attention_backend) as attention_backend,
    min(s.kv_cache_tokens) as kv_cache_tokens
from warehouse.measurement as m
inner join warehouse.server_start as s
    on
        m.sweep_id = s.sweep_id
        and m.block_id = s.block_id
        and m.start_index = s.start_index
        and m.attempt = s.attempt
group by
    m.sweep_id,
    m.cell_id,
    m.hardware_id;

comment on view warehouse.cell_summary is
'One row a sweep, cell and hardware with at least one measurement: its repetitions pooled, acceptance and steps from summed counters (NULL when nothing was drafted or counted), and what its server starts logged (several values are listed; async_scheduling is NULL when they differ).';
