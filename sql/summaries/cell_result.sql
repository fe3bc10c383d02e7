-- What became of each planned cell of one sweep, and what it did: counters are summed before they are divided.
with outcome as (
    select
        o.sweep_id,
        o.cell_id,
        b.hardware_id,
        case
            when bool_or(o.status = 'measured') then 'measured'
            when bool_or(o.status = 'quarantined') then 'quarantined'
            when bool_or(o.status = 'failed') then 'failed'
            else 'skipped'
        end as status,
        string_agg(distinct o.reason, '; ' order by o.reason) as reason
    from warehouse.cell_outcome as o
    inner join warehouse.block as b
        on
            o.sweep_id = b.sweep_id
            and o.block_id = b.block_id
    where o.sweep_id = :sweep_id
    group by
        o.sweep_id,
        o.cell_id,
        b.hardware_id
),

pooled as (
    select
        m.cell_id,
        m.hardware_id,
        count(*) as repetitions,
        count(distinct row(m.block_id, m.start_index, m.attempt)) as starts,
        sum(m.requests)::bigint as requests,
        sum(m.failed_requests)::bigint as failed_requests,
        sum(m.output_tokens)::bigint as output_tokens,
        sum(m.window_s) as window_s,
        sum(m.output_tokens) / nullif(sum(m.window_s), 0) as output_tokens_per_s,
        sum(m.ttft_mean_ms * (m.requests - m.failed_requests))
        / nullif(sum(m.requests - m.failed_requests) filter (where m.ttft_mean_ms is not null), 0) as ttft_mean_ms,
        sum(m.tpot_mean_ms * (m.requests - m.failed_requests))
        / nullif(sum(m.requests - m.failed_requests) filter (where m.tpot_mean_ms is not null), 0) as tpot_mean_ms,
        sum(m.ttft_mean_ms * (m.requests - m.failed_requests))
        / nullif(sum(m.e2e_latency_mean_ms * (m.requests - m.failed_requests)), 0) as prefill_share,
        sum(m.goodput_per_s * m.window_s)
        / nullif(sum(m.window_s) filter (where m.goodput_per_s is not null), 0) as goodput_per_s,
        sum(m.drafts)::bigint as drafts,
        sum(m.drafted_tokens)::bigint as drafted_tokens,
        sum(m.accepted_tokens)::bigint as accepted_tokens,
        sum(m.accepted_tokens)::double precision / nullif(sum(m.drafted_tokens), 0) as acceptance_rate,
        1 + sum(m.accepted_tokens)::double precision / nullif(sum(m.drafts), 0) as mean_acceptance_length,
        sum(m.server_output_tokens - m.requests) filter (where m.engine_steps is not null)::double precision
        / nullif(sum(m.engine_steps) filter (where m.server_output_tokens is not null), 0) as tokens_per_step,
        sum(m.step_time_ms * m.engine_steps)
        / nullif(sum(m.engine_steps) filter (where m.step_time_ms is not null), 0) as step_time_ms,
        sum(m.energy_joules)
        / nullif(sum(m.output_tokens) filter (where m.energy_joules is not null), 0) as joules_per_output_token,
        sum(m.usd_per_million_output_tokens * m.output_tokens)
        / nullif(sum(m.output_tokens) filter (where m.usd_per_million_output_tokens is not null), 0)
            as usd_per_million_output_tokens,
        max(m.usd_per_gpu_hour) as usd_per_gpu_hour,
        max(m.model_memory_tax_bytes) as model_memory_tax_bytes,
        max(m.kv_cache_tokens_lost) as kv_cache_tokens_lost,
        max(m.users_lost) as users_lost,
        avg(m.throttled_share) as throttled_share,
        string_agg(distinct s.model_runner, ', ' order by s.model_runner) as model_runner,
        case
            when bool_and(s.async_scheduling) = bool_or(s.async_scheduling) then bool_and(s.async_scheduling)
        end as async_scheduling,
        string_agg(distinct s.attention_backend, ', ' order by s.attention_backend) as attention_backend,
        min(s.kv_cache_tokens) as kv_cache_tokens,
        max(s.model_memory_bytes) as model_memory_bytes
    from warehouse.measurement as m
    inner join warehouse.server_start as s
        on
            m.sweep_id = s.sweep_id
            and m.block_id = s.block_id
            and m.start_index = s.start_index
            and m.attempt = s.attempt
    where m.sweep_id = :sweep_id
    group by
        m.cell_id,
        m.hardware_id
)

select
    o.sweep_id,
    o.cell_id,
    o.hardware_id,
    s.planned_at,
    o.status,
    o.reason,
    coalesce(p.repetitions, 0) as repetitions,
    coalesce(p.starts, 0) as starts,
    p.requests,
    p.failed_requests,
    p.output_tokens,
    p.window_s,
    p.output_tokens_per_s,
    p.ttft_mean_ms,
    p.tpot_mean_ms,
    p.prefill_share,
    p.goodput_per_s,
    p.drafts,
    p.drafted_tokens,
    p.accepted_tokens,
    p.acceptance_rate,
    p.mean_acceptance_length,
    p.tokens_per_step,
    p.step_time_ms,
    p.joules_per_output_token,
    p.usd_per_million_output_tokens,
    p.usd_per_gpu_hour,
    p.model_memory_tax_bytes,
    p.kv_cache_tokens_lost,
    p.users_lost,
    p.throttled_share,
    p.model_runner,
    p.async_scheduling,
    p.attention_backend,
    p.kv_cache_tokens,
    p.model_memory_bytes
from outcome as o
inner join warehouse.sweep as s
    on o.sweep_id = s.sweep_id
left join pooled as p
    on
        o.cell_id = p.cell_id
        and o.hardware_id = p.hardware_id;
