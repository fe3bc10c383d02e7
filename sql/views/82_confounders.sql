-- What else differs? Facts that servers logged, between an arm and its baseline and between neighbouring releases.
create or replace view warehouse.confounders as
with compared as (
    -- Keys only: what a server logged is read of those that are shown.
    select
        a.sweep_id,
        a.block_id,
        a.start_index,
        a.attempt,
        'baseline' as compared_with,
        o.sweep_id as other_sweep_id,
        o.block_id as other_block_id,
        o.start_index as other_start_index,
        o.attempt as other_attempt
    from warehouse.server_start as a
    cross join
        lateral (
            select
                p.sweep_id,
                p.block_id,
                p.start_index,
                p.attempt
            from warehouse.server_start as p
            where
                p.sweep_id = a.sweep_id
                and p.block_id = a.block_id
                and p.position <> 'arm'
                and p.ready_s is not null
            order by
                p.position desc,
                p.attempt desc
            limit 1
        ) as o
    where
        a.position = 'arm'
        and a.ready_s is not null
    union all
    select
        a.sweep_id,
        a.block_id,
        a.start_index,
        a.attempt,
        'release before' as compared_with,
        o.sweep_id as other_sweep_id,
        o.block_id as other_block_id,
        o.start_index as other_start_index,
        o.attempt as other_attempt
    from warehouse.server_start as a
    inner join warehouse.block as b
        on
            a.sweep_id = b.sweep_id
            and a.block_id = b.block_id
    inner join warehouse.engine as e
        on b.engine_id = e.engine_id
    cross join
        lateral (
            -- The release before first, then its latest start: a method's starts of all releases are many.
            select r.engine_id
            from warehouse.engine as r
            where
                r.version_sort < e.version_sort
                and exists (
                    select 1
                    from warehouse.block as d
                    inner join warehouse.server_start as p
                        on
                            d.sweep_id = p.sweep_id
                            and d.block_id = p.block_id
                    where
                        d.engine_id = r.engine_id
                        and d.hardware_id = b.hardware_id
                        and d.target_model_id = b.target_model_id
                        and p.method_id = a.method_id
                        and p.ready_s is not null
                )
            order by r.version_sort desc
            limit 1
        ) as before
    cross join
        lateral (
            select
                p.sweep_id,
                p.block_id,
                p.start_index,
                p.attempt
            from warehouse.block as d
            inner join warehouse.server_start as p
                on
                    d.sweep_id = p.sweep_id
                    and d.block_id = p.block_id
            where
                d.engine_id = before.engine_id
                and d.hardware_id = b.hardware_id
                and d.target_model_id = b.target_model_id
                and p.method_id = a.method_id
                and p.ready_s is not null
            order by p.started_at desc
            limit 1
        ) as o
    where a.ready_s is not null
)

select distinct
    c.sweep_id,
    w.planned_at as sweep_at,
    b.engine_id,
    e.version as engine_version,
    e.version_sort,
    b.hardware_id,
    h.kind as hardware_kind,
    h.label as hardware_label,
    m.name as target,
    m.weights,
    a.method_name,
    d.method,
    d.acceptance,
    c.compared_with,
    f.version as other_version,
    fact.key as fact,
    fact.value #>> '{}' as value,
    to_jsonb(o) ->> fact.key as other_value
from compared as c
inner join warehouse.server_start as a
    on
        c.sweep_id = a.sweep_id
        and c.block_id = a.block_id
        and c.start_index = a.start_index
        and c.attempt = a.attempt
inner join warehouse.server_start as o
    on
        c.other_sweep_id = o.sweep_id
        and c.other_block_id = o.block_id
        and c.other_start_index = o.start_index
        and c.other_attempt = o.attempt
inner join warehouse.block as b
    on
        c.sweep_id = b.sweep_id
        and c.block_id = b.block_id
inner join warehouse.block as g
    on
        c.other_sweep_id = g.sweep_id
        and c.other_block_id = g.block_id
inner join warehouse.engine as e
    on b.engine_id = e.engine_id
inner join warehouse.engine as f
    on g.engine_id = f.engine_id
inner join warehouse.sweep as w
    on c.sweep_id = w.sweep_id
inner join warehouse.hardware as h
    on b.hardware_id = h.hardware_id
inner join warehouse.method as d
    on a.method_id = d.method_id
left join warehouse.model as m
    on b.target_model_id = m.model_id
cross join
    lateral jsonb_each(
        to_jsonb(a) - array[
            'sweep_id',
            'block_id',
            'position',
            'method_name',
            'method_id',
            'started_at',
            'failure_class',
            'failure_message'
        ]
    ) as fact
where
    fact.value <> (to_jsonb(o) -> fact.key)
    and jsonb_typeof(fact.value) in ('string', 'boolean')
    and jsonb_typeof(to_jsonb(o) -> fact.key) in ('string', 'boolean');

comment on view warehouse.confounders is
'One row a sweep, engine, hardware, target, method, other side and fact that differs: text and yes/no facts of start-up logs, of an arm beside the baseline of its block, and of a method beside the same one in the latest start of the release before (same hardware and weights). Facts that one of the two does not log do not appear; numbers are in vram_tax.';
