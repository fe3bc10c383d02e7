-- What did the gate say of each load?
create or replace view warehouse.data_quality as
select
    l.load_id,
    l.sweep_id,
    l.block_id,
    l.created_at as loaded_at,
    l.state as load_state,
    v.expectation,
    v.subject,
    v.severity,
    v.success,
    coalesce((v.observed ->> 'failing')::bigint, 0) as failing_rows,
    jsonb_array_length(v.cell_ids) as failing_cells,
    v.details,
    l.decided_at is not null and l.created_at = max(l.created_at) over (
        partition by
            l.sweep_id,
            l.block_id,
            v.expectation,
            v.subject
    ) as last_load
from warehouse.load as l
inner join warehouse.validation_result as v
    on l.load_id = v.load_id;

comment on view warehouse.data_quality is
'One row a load and expectation that the gate evaluated on it: whether it held, and how many rows and cells did not. last_load: no later load of the block was judged by it.';
