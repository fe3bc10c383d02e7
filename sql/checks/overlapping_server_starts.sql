-- A server that was started while another one of the same machine was being measured in its block.
select
    s.sweep_id,
    s.block_id,
    s.start_index,
    s.attempt,
    m.start_index as measured_index,
    m.attempt as measured_attempt
from warehouse.server_start as s
inner join warehouse.measurement as m
    on
        s.sweep_id = m.sweep_id
        and s.block_id = m.block_id
        and (s.start_index <> m.start_index or s.attempt <> m.attempt)
where
    s.started_at > m.started_at
    and s.started_at < m.started_at + make_interval(secs => m.window_s);
