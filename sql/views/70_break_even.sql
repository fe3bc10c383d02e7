-- Up to which concurrency does speculation pay? Where the latency speedup of a series of loads crosses 1.
create or replace view warehouse.break_even as
with point as (
    select
        s.sweep_id,
        s.hardware_id,
        s.cell_id,
        -- All that a cell is but its load: of these cells each curve is made.
        to_jsonb(c) - array['cell_id', 'series_id', 'baseline_cell_id', 'concurrency'] as family,
        c.concurrency,
        s.estimate,
        s.lower,
        s.upper,
        log(2, c.concurrency::numeric)::double precision as x,
        ln(s.estimate) as y
    from warehouse.speedup as s
    inner join warehouse.cell as c
        on s.cell_id = c.cell_id
    where
        s.metric = 'latency_speedup'
        and c.arrival = 'closed'
),

step as (
    select
        p.*,
        lead(p.x) over curve as next_x,
        lead(p.y) over curve as next_y,
        lead(p.upper) over curve as next_upper
    from point as p
    window curve as (
        partition by
            p.sweep_id,
            p.hardware_id,
            p.family
        order by p.concurrency
    )
),

curve as (
    select
        p.sweep_id,
        p.hardware_id,
        min(p.cell_id) as one_cell_id,
        count(*) as points,
        min(p.concurrency) as lowest_concurrency,
        max(p.concurrency) as highest_concurrency,
        (array_agg(p.estimate order by p.concurrency))[1] as speedup_at_lowest,
        (array_agg(p.estimate order by p.concurrency desc))[1] as speedup_at_highest,
        count(*) filter (where p.y >= 0 and p.next_y < 0) as crossings_down,
        count(*) filter (where p.y < 0 and p.next_y >= 0) as crossings_up,
        max(power(2, p.x + (p.next_x - p.x) * p.y / (p.y - p.next_y))) filter (
            where p.y >= 0 and p.next_y < 0
        ) as crossing,
        bool_and(p.lower > 1 and p.next_upper < 1) filter (where p.y >= 0 and p.next_y < 0) as bracketed
    from step as p
    group by
        p.sweep_id,
        p.hardware_id,
        p.family
)

select
    b.sweep_id,
    s.planned_at as sweep_at,
    c.engine_id,
    e.version as engine_version,
    e.version_sort,
    b.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    c.target_name as target,
    c.weights,
    m.name as method_name,
    m.method,
    m.num_speculative_tokens,
    m.acceptance,
    w.name as workload,
    c.prompts,
    c.output_tokens,
    c.prompt_tokens,
    c.temperature,
    c.guided,
    b.points,
    b.lowest_concurrency,
    b.highest_concurrency,
    b.speedup_at_lowest,
    b.speedup_at_highest,
    case when b.crossings_down = 1 and b.crossings_up = 0 then b.crossing end as break_even_concurrency,
    case when b.crossings_down = 1 and b.crossings_up = 0 then b.bracketed end as certain,
    case
        when b.points = 1 then 'one concurrency measured'
        when b.crossings_down + b.crossings_up = 0 and b.speedup_at_lowest >= 1 then 'above the measured range'
        when b.crossings_down + b.crossings_up = 0 then 'below the measured range'
        when b.crossings_down = 1 and b.crossings_up = 0 then 'within the measured range'
        else 'not monotone'
    end as found
from curve as b
inner join warehouse.sweep as s
    on b.sweep_id = s.sweep_id
inner join warehouse.cell as c
    on b.one_cell_id = c.cell_id
inner join warehouse.engine as e
    on c.engine_id = e.engine_id
inner join warehouse.hardware as h
    on b.hardware_id = h.hardware_id
inner join warehouse.method as m
    on c.method_id = m.method_id
inner join warehouse.workload as w
    on c.workload_id = w.workload_id;

comment on view warehouse.break_even is
'One row a sweep, hardware and family of closed-loop cells alike in all but their concurrency: the concurrency at which the log of the latency speedup, linear in log2 of the concurrency between measured points, falls through 0. A point estimate without an interval.';
