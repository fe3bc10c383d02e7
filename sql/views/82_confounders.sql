-- What else differs? Facts that servers logged, between an arm and its baseline and between neighbouring releases.
create or replace view warehouse.confounders as
with served as (
    select
        s.sweep_id,
        s.block_id,
        s.start_index,
        s.attempt,
        s.position,
        s.method_id,
        s.method_name,
        s.started_at,
        b.hardware_id,
        b.target_model_id,
        b.engine_id,
        e.version as engine_version,
        e.version_sort,
        to_jsonb(s) - array[
            'sweep_id',
            'block_id',
            'position',
            'method_name',
            'method_id',
            'started_at',
            'failure_class',
            'failure_message'
        ] as facts
    from warehouse.server_start as s
    inner join warehouse.block as b
        on
            s.sweep_id = b.sweep_id
            and s.block_id = b.block_id
    inner join warehouse.engine as e
        on b.engine_id = e.engine_id
    where s.ready_s is not null
),

compared as (
    select
        a.*,
        'baseline' as compared_with,
        o.engine_version as other_version,
        o.facts as other_facts
    from served as a
    cross join
        lateral (
            select
                p.engine_version,
                p.facts
            from served as p
            where
                p.sweep_id = a.sweep_id
                and p.block_id = a.block_id
                and p.position <> 'arm'
            order by
                p.position desc,
                p.attempt desc
            limit 1
        ) as o
    where a.position = 'arm'
    union all
    select
        a.*,
        'release before' as compared_with,
        o.engine_version as other_version,
        o.facts as other_facts
    from served as a
    cross join lateral (
        select
            p.engine_version,
            p.facts
        from served as p
        where
            p.hardware_id = a.hardware_id
            and p.target_model_id = a.target_model_id
            and p.method_id = a.method_id
            and p.version_sort < a.version_sort
        order by
            p.version_sort desc,
            p.started_at desc
        limit 1
    ) as o
)

select distinct
    c.sweep_id,
    w.planned_at as sweep_at,
    c.engine_id,
    c.engine_version,
    c.version_sort,
    c.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    m.name as target,
    m.weights,
    c.method_name,
    d.method,
    d.acceptance,
    c.compared_with,
    c.other_version,
    f.key as fact,
    f.value #>> '{}' as value,
    c.other_facts ->> f.key as other_value
from compared as c
cross join lateral jsonb_each(c.facts) as f
inner join warehouse.sweep as w
    on c.sweep_id = w.sweep_id
inner join warehouse.hardware as h
    on c.hardware_id = h.hardware_id
inner join warehouse.method as d
    on c.method_id = d.method_id
left join warehouse.model as m
    on c.target_model_id = m.model_id
where
    f.value <> (c.other_facts -> f.key)
    and jsonb_typeof(f.value) in ('string', 'boolean')
    and jsonb_typeof(c.other_facts -> f.key) in ('string', 'boolean');

comment on view warehouse.confounders is
'One row a sweep, engine, hardware, target, method, other side and fact that differs: text and yes/no facts of start-up logs, of an arm beside the baseline of its block, and of a method beside the same one in the latest start of the release before (same hardware and weights). Facts that one of the two does not log do not appear; numbers are in vram_tax.';
