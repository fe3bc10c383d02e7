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
    c.model_memory_tax_bytes,
    c.kv_cache_tokens_lost,
    c.users_lost,
    c.baseline_kv_cache_tokens,
    c.speculative_kv_cache_tokens,
    c.kv_cache_tokens_lost::double precision / nullif(c.baseline_kv_cache_tokens, 0) as kv_cache_share_lost
from warehouse.cell_beside_baseline as c
where
    not c.is_baseline
    and c.status = 'measured';

comment on view warehouse.vram_tax is
'One row a sweep, measured speculative cell and hardware: memory and KV cache that its server has less than the block''s baseline, and the requests of mean length that would fit there. NULL where a log does not say.';
