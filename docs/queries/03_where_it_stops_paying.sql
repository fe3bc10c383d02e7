-- Up to which concurrency does each method pay, in the last sweep of each machine?
select distinct on (b.hardware_id, b.engine_id, b.target, b.weights, b.method_name, b.workload, b.output_tokens)
    b.hardware_label,
    b.engine_version,
    b.target,
    b.weights,
    b.method_name,
    b.acceptance,
    b.workload,
    b.found,
    b.break_even_concurrency,
    b.certain
from warehouse.break_even as b
order by
    b.hardware_id,
    b.engine_id,
    b.target,
    b.weights,
    b.method_name,
    b.workload,
    b.output_tokens,
    b.sweep_at desc;
