-- How many users does each method cost in KV cache, at most, in the latest sweep of each cell?
select
    t.hardware_label,
    t.engine_version,
    t.target,
    t.method_name,
    max(t.kv_cache_tokens_lost) as kv_cache_tokens_lost,
    max(t.users_lost) as users_lost,
    max(t.kv_cache_share_lost) as kv_cache_share_lost
from warehouse.vram_tax as t
where t.latest
group by
    t.hardware_label,
    t.engine_version,
    t.target,
    t.method_name;
