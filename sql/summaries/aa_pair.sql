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
    select
        m.sweep_id,
        m.block_id,
        m.cell_id,
        m.hardware_id,
        avg(r.e2e_latency_ms / r.output_tokens) filter (where m.position = 'opening') as opening_ms_per_token,
        avg(r.e2e_latency_ms / r.output_tokens) filter (where m.position = 'closing') as closing_ms_per_token,
        count(r.request_index) filter (where m.position = 'opening') as opening_requests,
        count(r.request_index) filter (where m.position = 'closing') as closing_requests
    from counted as m
    left join warehouse.request as r
        on
            m.sweep_id = r.sweep_id
            and m.block_id = r.block_id
            and m.start_index = r.start_index
            and m.attempt = r.attempt
            and m.cell_id = r.cell_id
            and m.repetition = r.repetition
            and r.sweep_id = :sweep_id
            and r.block_id = :block_id
            and r.sweep_date = :sweep_date
            and r.error is null
            and r.output_tokens > 0
            and r.e2e_latency_ms > 0
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
