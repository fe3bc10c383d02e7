"""What the plan promises of a block, as SQL beside the staged rows, so that an expectation can compare columns.

Queries are text because Great Expectations takes text; every value in them is an id of ours (checked), or a number.
"""
# ruff: noqa: S608 - see above: ids are checked by `_id`, the rest are integers

from pipeline.domain.block import Block
from pipeline.domain.cell import Cell

KEY = "block_id, start_index, attempt, cell_id, repetition"


def measurements(block: Block, *, load_id: str) -> str:
    """Return SQL for the load's measurements beside what was planned for their cells."""
    return f"""
        select
            m.*,
            p.requests as planned_requests,
            p.requests * p.output_tokens as most_output_tokens,
            p.speculative_tokens + 1 as longest_acceptance,
            case when m.position <> 'arm' then m.identical_share end as control_share,
            case when p.speculative_tokens is null then coalesce(m.drafts, 0) end as baseline_drafts,
            case when p.speculative_tokens is not null then coalesce(m.drafts, 0) end as arm_drafts
        from staging.measurement as m
        left join {_plan(block)} on m.cell_id = p.cell_id
        where m.load_id = '{_id(load_id)}'
    """


def requests(block: Block, *, load_id: str) -> str:
    """Return SQL for the load's requests beside what was planned for their cells."""
    return f"""
        select r.*, p.requests as planned_requests, p.output_tokens as most_output_tokens
        from staging.request as r
        left join {_plan(block)} on r.cell_id = p.cell_id
        where r.load_id = '{_id(load_id)}'
    """


def positions(block: Block, *, load_id: str) -> str:
    """Return SQL for the load's acceptance by position beside what was planned for their cells."""
    return f"""
        select a.*, p.speculative_tokens - 1 as last_position
        from staging.acceptance_position as a
        left join {_plan(block)} on a.cell_id = p.cell_id
        where a.load_id = '{_id(load_id)}'
    """


def missing_repetitions(block: Block, *, load_id: str) -> str:
    """Return SQL for the cells that count as measured in a start where a repetition of theirs is not there.

    `{batch}` stays in it: Great Expectations puts the query of `measurements` there.
    """
    return f"""
        select o.document ->> 'cell_id' as cell_id, count(*) as rows
        from staging.document as o
        cross join generate_series(0, {int(block.repetitions) - 1}) as r (repetition)
        where
            o.load_id = '{_id(load_id)}'
            and o.table_name = 'cell_outcome'
            and o.document ->> 'status' = 'measured'
            and not exists (
                select 1
                from {{batch}} as m
                where
                    m.cell_id = o.document ->> 'cell_id'
                    and m.start_index = cast(o.document ->> 'start_index' as bigint)
                    and m.repetition = r.repetition
            )
        group by o.document ->> 'cell_id'
    """


def _plan(block: Block) -> str:
    """Return the planned cells as a table p."""
    cells = {cell.cell_id: cell for start in block.starts for cell in start.cells}
    values = ", ".join(_row(cell) for cell in cells.values())
    return f"(values {values}) as p (cell_id, requests, output_tokens, speculative_tokens)"


def _row(cell: Cell) -> str:
    k = cell.method.num_speculative_tokens
    length = "cast(null as bigint)" if k is None else str(int(k))
    return f"('{_id(cell.cell_id)}', {int(cell.prompts)}, {int(cell.output_tokens)}, {length})"


def _id(value: str) -> str:
    if not value.isalnum():
        message = f"{value!r} is not an id"
        raise ValueError(message)
    return value
