"""Resuming: after the last complete repetition, with a new opening baseline when too much time went by."""

from pipeline.domain.block import Block
from pipeline.plan.remaining import REOPEN_AFTER_S, Complete, Remaining, remaining, without_baseline
from tests.support.values import make_block

NOW = 10_000.0


def rest(block: Block, complete: list[Complete], **changes: object) -> Remaining:
    options: dict = {"attempts": {}, "failed": (), "now_s": NOW, "same_hardware": True} | changes
    return remaining(block, complete=complete, **options)


def done(block: Block, *, start: int, repetition: int, ended_at_s: float = NOW - 10) -> list[Complete]:
    return [Complete(start, 1, cell.cell_id, repetition, ended_at_s) for cell in block.starts[start].cells]


def shape(left: Remaining) -> list[tuple[int, int, list[tuple[int, int]]]]:
    return [(t.start.index, t.attempt, [(c.concurrency, r) for c, r in t.repetitions]) for t in left.todo]


def test_a_fresh_block_is_all_to_do() -> None:
    left = rest(make_block(), [])
    every = [(1, 0), (2, 0), (1, 1), (2, 1)]
    assert shape(left) == [(index, 1, every) for index in range(4)]
    assert left.gap_s is None


def test_complete_repetitions_are_not_done_again() -> None:
    block = make_block()
    complete = (
        done(block, start=0, repetition=0) + done(block, start=0, repetition=1) + done(block, start=1, repetition=0)
    )
    left = rest(block, complete, attempts={0: 1, 1: 1})
    assert shape(left)[0] == (1, 2, [(1, 1), (2, 1)])
    assert [index for index, *_ in shape(left)] == [1, 2, 3]
    assert left.gap_s == 10
    assert not left.reopened


def test_a_long_interruption_opens_the_block_again() -> None:
    block = make_block()
    long_ago = NOW - REOPEN_AFTER_S - 1
    complete = [c for r in (0, 1) for c in done(block, start=0, repetition=r, ended_at_s=long_ago)]
    left = rest(block, complete, attempts={0: 1})
    assert left.reopened
    assert shape(left)[0] == (0, 2, [(1, 0), (2, 0), (1, 1), (2, 1)])


def test_other_hardware_opens_the_block_again() -> None:
    block = make_block()
    left = rest(block, done(block, start=0, repetition=0), attempts={0: 1}, same_hardware=False)
    assert left.reopened
    assert shape(left)[0] == (0, 2, [(1, 0), (2, 0), (1, 1), (2, 1)])


def test_a_finished_block_is_not_opened_again_however_long_ago() -> None:
    block = make_block(repetitions=1)
    complete = [c for start in range(4) for c in done(block, start=start, repetition=0, ended_at_s=0)]
    left = rest(block, complete)
    assert left.todo == ()
    assert not left.reopened


def test_cells_that_were_given_up_are_not_tried_again() -> None:
    block = make_block()
    failed = {(1, cell.cell_id) for cell in block.starts[1].cells}
    assert [index for index, *_ in shape(rest(block, [], failed=failed))] == [0, 2, 3]


def test_a_block_whose_opening_baseline_failed_for_good_starts_no_arm() -> None:
    block = make_block()
    pointless = without_baseline(block, failed_for_good={0}, complete=[])
    assert {index for index, _ in pointless} == {1, 2, 3}
    failed = pointless | {(0, cell.cell_id) for cell in block.starts[0].cells}
    assert shape(rest(block, [], failed=failed)) == []


def test_arms_keep_the_cells_whose_baseline_was_measured_before_the_server_died() -> None:
    block = make_block()
    complete = [c for c in done(block, start=0, repetition=0) if c.cell_id == block.starts[0].cells[0].cell_id]
    pointless = without_baseline(block, failed_for_good={0}, complete=complete)
    assert [index for index, *_ in shape(rest(block, complete, failed=pointless))] == [0, 1, 2, 3]
    assert {c.concurrency for s in block.starts[1:] for c in s.cells if (s.index, c.cell_id) in pointless} == {2}


def test_another_start_that_failed_for_good_stops_no_other() -> None:
    assert without_baseline(make_block(), failed_for_good={1, 3}, complete=[]) == frozenset()
    assert without_baseline(make_block(unsupported=lambda cell: "no"), failed_for_good={0}, complete=[]) == frozenset()
