-- What does speculation take of the GPU's memory, and how many users is that?
create or replace view warehouse.vram_tax as
select
    c.sweep_id,
    c.sweep_at,
    c.engine_id,
    c.engine_version,
    c.version_sort,
    c.hardware_id,
    c.hardware_kind,
    c.hardware_label,
    c.target,
    c.weights,
    c.method_name,
    c.method,
    c.num_speculative_tokens,
    c.draft,
    c.acceptance,
    c.workload,
    c.prompt_tokens,
    c.output_tokens,
    c.concurrency,
    c.request_rate,
    c.cell_id,
    c.series_id,
    c.latest,
    arm.model_memory_tax_bytes,
    arm.kv_cache_tokens_lost,
    arm.users_lost,
    baseline.kv_cache_tokens as baseline_kv_cache_tokens,
    arm.kv_cache_tokens as speculative_kv_cache_tokens,
    arm.kv_cache_tokens_lost::double precision / nullif(baseline.kv_cache_tokens, 0) as kv_cache_share_lost
from warehouse.cell_status as c
inner join warehouse.cell_result as arm
    on
        c.sweep_id = arm.sweep_id
        and c.cell_id = arm.cell_id
        and c.hardware_id = arm.hardware_id
left join warehouse.cell_result as baseline
    on
        c.sweep_id = baseline.sweep_id
        and c.baseline_cell_id = baseline.cell_id
        and c.hardware_id = baseline.hardware_id
where
    not c.is_baseline
    and c.status = 'measured';

comment on view warehouse.vram_tax is
'One row a sweep, measured speculative cell and hardware: memory and KV cache that its server has less than the block''s baseline, and the requests of mean length that would fit there. NULL where a log does not say.';
