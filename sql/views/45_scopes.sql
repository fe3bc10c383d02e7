-- What may be asked for? Every release of a target model on a machine that has a latest sweep, and what was real in it.
create or replace view warehouse.scopes as
select
    r.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    c.target_name as target,
    c.engine_id,
    e.version as engine_version,
    e.version_sort,
    c.weights,
    m.acceptance,
    count(*) as cells,
    max(r.planned_at) as last_sweep_at
from warehouse.cell_result as r
inner join warehouse.cell as c
    on r.cell_id = c.cell_id
inner join warehouse.engine as e
    on c.engine_id = e.engine_id
inner join warehouse.method as m
    on c.method_id = m.method_id
inner join warehouse.hardware as h
    on r.hardware_id = h.hardware_id
where
    r.latest
    and c.cell_id <> c.baseline_cell_id
group by
    r.hardware_id,
    h.kind,
    h.label,
    c.target_name,
    c.engine_id,
    e.version,
    e.version_sort,
    c.weights,
    m.acceptance;

comment on view warehouse.scopes is
'One row a hardware, target, engine, kind of weights and of acceptance that was planned: its speculative cells, and when the last sweep with one was planned. What stands in one row may be compared; across rows, only releases may.';
