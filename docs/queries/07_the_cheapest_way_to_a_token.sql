-- Which method needs least energy for a token, for each target, workload and load?
select distinct on (c.hardware_id, c.engine_id, c.target, c.weights, c.acceptance, c.workload, c.concurrency)
    c.hardware_label,
    c.engine_version,
    c.target,
    c.workload,
    c.concurrency,
    c.method_name,
    c.speculative_joules_per_output_token,
    c.energy_saving
from warehouse.cost as c
where
    c.latest
    and c.speculative_joules_per_output_token is not null
order by
    c.hardware_id,
    c.engine_id,
    c.target,
    c.weights,
    c.acceptance,
    c.workload,
    c.concurrency,
    c.speculative_joules_per_output_token;
