-- How much the same thing differs from itself in one block: the closing baseline against the opening one.
create or replace view warehouse.noise_floor as
select
    a.sweep_id,
    s.planned_at as sweep_at,
    a.block_id,
    a.cell_id,
    c.series_id,
    c.engine_id,
    a.hardware_id,
    h.kind as hardware_kind,
    c.target_name as target,
    c.weights,
    w.name as workload,
    c.concurrency,
    a.opening_ms_per_token,
    a.closing_ms_per_token,
    a.opening_requests,
    a.closing_requests,
    a.aa_log_ratio,
    c.arrival,
    c.request_rate,
    c.prompt_tokens,
    c.guided
from warehouse.aa_pair as a
inner join warehouse.sweep as s
    on a.sweep_id = s.sweep_id
inner join warehouse.cell as c
    on a.cell_id = c.cell_id
inner join warehouse.workload as w
    on c.workload_id = w.workload_id
inner join warehouse.hardware as h
    on a.hardware_id = h.hardware_id;

comment on view warehouse.noise_floor is
'One row a block, baseline cell and hardware: log(closing / opening) of the mean e2e latency per output token (ms) over requests without error. NULL when one of the two baselines is missing.';
