-- How much does the same server differ from itself, on each machine, over all nights?
select
    n.hardware_id,
    n.hardware_kind,
    n.target,
    count(*) as pairs,
    stddev_samp(n.aa_log_ratio) as sd_of_log_ratio,
    max(abs(n.aa_log_ratio)) as worst
from warehouse.noise_floor as n
where n.aa_log_ratio is not null
group by
    n.hardware_id,
    n.hardware_kind,
    n.target
order by n.hardware_id;
