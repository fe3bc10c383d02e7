-- Two rows of a dimension that mean the same: what was measured of one is missing from the other's history.
select
    'cell' as dimension,
    min(c.cell_id) as one,
    max(c.cell_id) as other
from warehouse.cell as c
group by
    c.series_id,
    c.engine_id
having count(*) > 1
union all
select
    'engine' as dimension,
    min(e.engine_id) as one,
    max(e.engine_id) as other
from warehouse.engine as e
group by
    e.version,
    e.platform
having count(*) > 1
union all
select
    'hardware' as dimension,
    min(h.hardware_id) as one,
    max(h.hardware_id) as other
from warehouse.hardware as h
group by to_jsonb(h) - 'hardware_id'
having count(*) > 1
union all
select
    'model' as dimension,
    min(m.model_id) as one,
    max(m.model_id) as other
from warehouse.model as m
group by
    m.name,
    m.revision,
    m.weights
having count(*) > 1;
