-- How much the same thing differs from itself in one block: the closing baseline against the opening one.
create or replace view warehouse.noise_floor as
with counted as (
    -- A block that was opened again measured its baseline twice: the last attempt at each repetition counts.
    select distinct on (m.sweep_id, m.block_id, m.start_index, m.cell_id, m.repetition)
        m.sweep_id,
        m.block_id,
        m.start_index,
        m.attempt,
        m.cell_id,
        m.repetition,
        m.position,
        m.hardware_id,
        s.sweep_date
    from warehouse.measurement as m
    inner join warehouse.sweep as s
        on m.sweep_id = s.sweep_id
    inner join warehouse.cell as c
        on m.cell_id = c.cell_id
    where
        c.cell_id = c.baseline_cell_id
        and m.position in ('opening', 'closing')
    order by
        m.sweep_id,
        m.block_id,
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
            m.sweep_date = r.sweep_date
            and m.sweep_id = r.sweep_id
            and m.block_id = r.block_id
            and m.start_index = r.start_index
            and m.attempt = r.attempt
            and m.cell_id = r.cell_id
            and m.repetition = r.repetition
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
    s.planned_at as sweep_at,
    l.block_id,
    l.cell_id,
    c.series_id,
    c.engine_id,
    l.hardware_id,
    h.kind as hardware_kind,
    c.target_name as target,
    c.weights,
    w.name as workload,
    c.concurrency,
    l.opening_ms_per_token,
    l.closing_ms_per_token,
    l.opening_requests,
    l.closing_requests,
    ln(l.closing_ms_per_token / l.opening_ms_per_token) as aa_log_ratio,
    c.arrival,
    c.request_rate,
    c.prompt_tokens,
    c.guided
from latency as l
inner join warehouse.sweep as s
    on l.sweep_id = s.sweep_id
inner join warehouse.cell as c
    on l.cell_id = c.cell_id
inner join warehouse.workload as w
    on c.workload_id = w.workload_id
inner join warehouse.hardware as h
    on l.hardware_id = h.hardware_id;

comment on view warehouse.noise_floor is
'One row a block, baseline cell and hardware: log(closing / opening) of the mean e2e latency per output token (ms) over requests without error. NULL when one of the two baselines is missing.';
