-- Which verdicts rest on servers that differ in more than speculation?
select
    v.sweep_id,
    v.hardware_label,
    v.target,
    v.method_name,
    v.verdict,
    string_agg(distinct f.fact || ': ' || f.other_value || ' -> ' || f.value, '; ') as differs
from warehouse.latest_verdicts as v
inner join warehouse.confounders as f
    on
        v.sweep_id = f.sweep_id
        and v.hardware_id = f.hardware_id
        and v.engine_id = f.engine_id
        and v.target = f.target
        and v.method_name = f.method_name
where f.compared_with = 'baseline'
group by
    v.sweep_id,
    v.hardware_label,
    v.target,
    v.method_name,
    v.verdict;
