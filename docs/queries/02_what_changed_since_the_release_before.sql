-- Which speedups moved from one release to the next by more than their intervals allow, and which arm moved?
with step as (
    select
        t.*,
        lag(t.engine_version) over series as version_before,
        lag(t.latency_upper) over series as upper_before,
        lag(t.latency_lower) over series as lower_before,
        t.baseline_ms_per_token / lag(t.baseline_ms_per_token) over series as baseline_time_ratio,
        t.speculative_ms_per_token / lag(t.speculative_ms_per_token) over series as speculative_time_ratio
    from warehouse.trend_by_version as t
    where t.latency_speedup is not null
    window series as (
        partition by
            t.series_id,
            t.hardware_id
        order by
            t.version_sort,
            t.sweep_at
    )
)

select
    s.hardware_label,
    s.target,
    s.method_name,
    s.workload,
    s.concurrency,
    s.version_before,
    s.engine_version,
    s.latency_speedup,
    s.baseline_time_ratio,
    s.speculative_time_ratio
from step as s
where
    s.version_before <> s.engine_version
    and (s.latency_lower > s.upper_before or s.latency_upper < s.lower_before)
order by
    s.engine_version,
    s.target;
