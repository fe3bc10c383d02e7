-- A position of a draft accepted more often than the one before it, or more often than drafts were made.
select
    a.sweep_id,
    a.block_id,
    a.start_index,
    a.attempt,
    a.cell_id,
    a.repetition,
    a.draft_position
from warehouse.acceptance_position as a
left join warehouse.acceptance_position as b
    on
        a.sweep_id = b.sweep_id
        and a.block_id = b.block_id
        and a.start_index = b.start_index
        and a.attempt = b.attempt
        and a.cell_id = b.cell_id
        and a.repetition = b.repetition
        and a.draft_position = b.draft_position + 1
where
    a.accepted > b.accepted
    or a.accepted > a.drafts;
