-- What keeps breaking, and since when? Incidents seen in more than one sweep.
select
    i.engine_version,
    i.hardware_label,
    i.status,
    i.failure,
    i.reason,
    i.sweeps,
    i.first_sweep_at,
    i.last_sweep_at
from warehouse.incidents as i
where i.sweeps > 1
order by i.last_sweep_at desc;
