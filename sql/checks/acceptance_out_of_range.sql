-- More tokens accepted than drafted, a length outside [1, k + 1], or a baseline that drafted.
select
    m.sweep_id,
    m.block_id,
    m.start_index,
    m.cell_id,
    m.repetition
from warehouse.measurement as m
inner join warehouse.cell as c
    on m.cell_id = c.cell_id
inner join warehouse.method as d
    on c.method_id = d.method_id
where
    m.accepted_tokens > m.drafted_tokens
    or m.acceptance_rate not between 0 and 1
    or m.mean_acceptance_length < 1
    or m.mean_acceptance_length > d.num_speculative_tokens + 1
    or (d.acceptance = 'none' and m.drafts > 0);
