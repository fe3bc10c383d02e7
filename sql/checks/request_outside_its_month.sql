-- A request dated otherwise than its sweep: it lies in another month, where a query by date misses it.
select
    r.sweep_id,
    r.block_id,
    r.sweep_date,
    count(*) as requests
from warehouse.request as r
inner join warehouse.sweep as s
    on r.sweep_id = s.sweep_id
where r.sweep_date <> s.sweep_date
group by
    r.sweep_id,
    r.block_id,
    r.sweep_date;
