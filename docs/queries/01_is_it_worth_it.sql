-- Is it worth it today, on real hardware, with real weights and real acceptance, in the newest release of each series?
select
    v.hardware_label,
    v.target,
    v.method_name,
    v.workload,
    v.concurrency,
    v.verdict,
    round(v.estimate::numeric, 2) as speedup,
    round(v.lower::numeric, 2) as at_least,
    round(v.upper::numeric, 2) as at_most
from warehouse.latest_verdicts as v
where
    v.newest_engine
    and v.weights = 'real'
    and v.acceptance = 'real'
order by
    v.hardware_label,
    v.target,
    v.estimate desc nulls last;
