"""Blocks: baseline, arms, baseline; skipped cells keep their reason."""

from pipeline.domain.block import Sweep
from tests.support.values import BASELINE, DRAFT, NGRAM, make_block


def test_baselines_open_and_close_the_arms() -> None:
    block = make_block()
    assert [start.position for start in block.starts] == ["opening", "arm", "arm", "closing"]
    assert sorted(start.method.name for start in block.starts[1:-1]) == [DRAFT.name, NGRAM.name]
    assert block.starts[0].method == block.starts[-1].method == BASELINE
    assert [start.index for start in block.starts] == [0, 1, 2, 3]


def test_the_order_of_arms_is_seeded_and_changes_over_sweeps() -> None:
    def order(number: int) -> list[str]:
        sweep = Sweep(f"sweep-{number}", "tiny", "0", "2026-01-01T00:00:00+00:00", "test")
        return [start.method.name for start in make_block(sweep=sweep).starts]

    assert order(1) == order(1)
    assert len({tuple(order(n)) for n in range(8)}) == 2


def test_unsupported_cells_are_skipped_with_the_reason() -> None:
    block = make_block(unsupported=lambda cell: "no drafts here" if cell.method == DRAFT else None)
    assert [start.method.name for start in block.starts] == ["none", "ngram-k4", "none"]
    assert {(skip.cell.method.name, skip.reason) for skip in block.skipped} == {("draft-k3", "no drafts here")}


def test_only_baseline_cells_with_an_arm_are_measured() -> None:
    block = make_block(unsupported=lambda cell: "too wide" if cell.concurrency == 2 else None)
    assert [cell.concurrency for cell in block.starts[0].cells] == [1]


def test_a_block_with_nothing_to_compare_starts_no_server() -> None:
    block = make_block(unsupported=lambda cell: "no")
    assert block.starts == ()
    assert len(block.skipped) == 4
