"""A budget buys the most valuable cells first, with everything that they make necessary."""

from dataclasses import replace

from pipeline.domain.cell import Cell
from pipeline.domain.engine import Engine
from pipeline.plan.budget import History, beyond_budget
from pipeline.plan.estimate import Clock, Recorded
from tests.support.values import DRAFT, NGRAM, make_cell

NEW = Engine(version="0.33.0", platform="cpu")


def cells(*, engine: Engine | None = None) -> list[Cell]:
    found = [make_cell(method=method, concurrency=c) for method in (NGRAM, DRAFT) for c in (1, 2)]
    return [replace(cell, engine=engine) for cell in found] if engine else found


def clock(*known: Cell) -> Clock:
    """Every window 10 s with its warm-up, every start 100 s."""
    every = [cell for one in known for cell in (one, one.baseline())]
    return Clock(
        recorded=Recorded(
            window_s={cell.series_id: 10 / (1 + min(1, (cell.concurrency or 1) / cell.prompts)) for cell in every},
            start_s={("cpu", "tiny"): 100.0},
        )
    )


def kept(found: list[Cell], *, budget_s: float, history: History | None = None) -> list[Cell]:
    left_out = beyond_budget(found, budget_s=budget_s, clock=clock(*found), repetitions=1, history=history)
    return [cell for cell in found if cell.cell_id not in left_out]


def test_the_first_cell_pays_for_its_block_its_arm_and_its_baseline() -> None:
    found = cells()
    first = 2 * 100 + 100 + 2 * 10 + 10  # baselines' starts, the arm's, the baseline's windows, its own
    assert kept(found, budget_s=first - 1) == []
    assert kept(found, budget_s=first) == found[:1]


def test_what_is_paid_already_is_not_paid_again() -> None:
    found = cells()
    assert kept(found, budget_s=330 + 30) == found[:2]  # the arm runs already: a window and its baseline's
    assert kept(found, budget_s=360 + 110) == found[:3]  # the other arm: its start and a window, the baseline is there
    assert kept(found, budget_s=480) == found


def test_a_cheaper_cell_still_fits_after_one_that_does_not() -> None:
    found = cells()
    found.insert(1, make_cell(method=DRAFT, concurrency=1, prompts=2, output_tokens=4))
    assert kept(found, budget_s=360) == [found[0], found[2]]


def test_what_does_not_fit_says_why() -> None:
    found = cells()
    left_out = beyond_budget(found, budget_s=330, clock=clock(*found), repetitions=1)
    assert left_out[found[1].cell_id] == (
        "budget: 0.01 h more would exceed 0.0917 h; 0.09 h went to more valuable cells"
    )


def test_a_new_release_comes_before_the_undecided_and_these_before_the_stalest() -> None:
    old, new = cells(), cells(engine=NEW)
    history = History(
        engines=frozenset({"0.32.0-cpu"}),
        measured_at={cell.cell_id: f"2026-11-0{day}" for day, cell in zip((4, 3, 2, 1), old, strict=True)},
        undecided=frozenset({old[1].cell_id}),
    )
    order = sorted([*old, *new], key=history.value)
    assert order == [*new, old[1], old[3], old[2], old[0]]


def test_a_cell_that_was_never_measured_comes_before_those_that_were() -> None:
    found = cells()
    history = History(engines=frozenset({"0.32.0-cpu"}), measured_at={cell.cell_id: "2026-11-01" for cell in found[:3]})
    assert min(found, key=history.value) == found[3]


def test_without_a_history_the_order_is_the_matrixs() -> None:
    found = cells()
    assert sorted(found, key=History().value) == found
