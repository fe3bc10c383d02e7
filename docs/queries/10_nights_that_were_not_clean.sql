-- Which nights lost cells, or were noisier than 5 %?
select
    n.sweep_at,
    n.hardware_label,
    n.cells,
    n.failed,
    n.quarantined,
    exp(abs(n.worst_aa_log_ratio)) - 1 as worst_noise
from warehouse.night_summary as n
where
    n.failed + n.quarantined > 0
    or abs(n.worst_aa_log_ratio) > ln(1.05)
order by n.sweep_at desc;
