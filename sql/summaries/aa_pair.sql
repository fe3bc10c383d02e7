-- How much the same thing differs from itself in one block: the closing baseline against the opening one.
with counted as (
    -- A block that was opened again measured its baseline twice: the last attempt at each repetition counts.
    select distinct on (m.start_index, m.cell_id, m.repetition)
        m.sweep_id,
        m.block_id,
        m.start_index,
        m.attempt,
        m.cell_id,
        m.repetition,
        m.position,
        m.hardware_id
    from warehouse.measurement as m
    inner join warehouse.cell as c
        on m.cell_id = c.cell_id
    where
        m.sweep_id = :sweep_id
        and m.block_id = :block_id
        and c.cell_id = c.baseline_cell_id
        and m.position in ('opening', 'closing')
    order by
        m.start_index,
        m.cell_id,
        m.repetition,
        m.attempt desc
),

latency as (
    -- A repetition at a time, by its whole key: a plan made just after a load knows nothing of its requests, and reads
    -- all of them for each repetition where it may.
    select
        m.sweep_id,
        m.block_id,
        m.cell_id,
        m.hardware_id,
        sum(q.ms_per_token) filter (where m.position = 'opening')
        / sum(q.requests) filter (where m.position = 'opening') as opening_ms_per_token,
        sum(q.ms_per_token) filter (where m.position = 'closing')
        / sum(q.requests) filter (where m.position = 'closing') as closing_ms_per_token,
        coalesce(sum(q.requests) filter (where m.position = 'opening'), 0)::bigint as opening_requests,
        coalesce(sum(q.requests) filter (where m.position = 'closing'), 0)::bigint as closing_requests
    from counted as m
    cross join
        lateral (
            select
                sum(r.e2e_latency_ms / r.output_tokens) as ms_per_token,
                nullif(count(*), 0) as requests
            from warehouse.request as r
            where
                r.sweep_id = m.sweep_id
                and r.block_id = m.block_id
                and r.start_index = m.start_index
                and r.attempt = m.attempt
                and r.cell_id = m.cell_id
                and r.repetition = m.repetition
                and r.sweep_date = :sweep_date
                and r.error is null
                and r.output_tokens > 0
                and r.e2e_latency_ms > 0
        ) as q
    group by
        m.sweep_id,
        m.block_id,
        m.cell_id,
        m.hardware_id
)

select
    l.sweep_id,
    l.block_id,
    l.cell_id,
    l.hardware_id,
    l.opening_ms_per_token,
    l.closing_ms_per_token,
    l.opening_requests,
    l.closing_requests,
    ln(l.closing_ms_per_token / l.opening_ms_per_token) as aa_log_ratio
from latency as l;
