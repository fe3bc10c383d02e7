"""Rows of the warehouse to speedups and verdicts: what is kept apart, and what counts as history."""

from typing import Any

import pytest

from pipeline.steps.analyzing import derive
from tests.support.night_records import aa_rows, rows_of, write_night
from tests.support.nights import Night

Rows = list[dict[str, Any]]
MARGIN = 1.05


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Rows, Rows]:
    """Measurements, requests and A/A pairs of one night at concurrency 1 and 4."""
    runs = tmp_path_factory.mktemp("runs")
    _, measured, requests = rows_of(write_night(runs, Night(concurrency=(1, 4), repetitions=1), seed=0))
    return measured, requests, aa_rows(measured, requests)


def named(rows: Rows, **changes: Any) -> Rows:
    return [row | changes for row in rows]


def test_each_speculative_cell_gets_three_speedups_and_a_verdict(night: tuple[Rows, Rows, Rows]) -> None:
    measured, requests, pairs = night
    speedups, verdicts = derive("s", measured=measured, requests=requests, pairs=pairs, margin=MARGIN)
    arms = {row["cell_id"] for row in measured if not row["is_baseline"]}
    assert {verdict.cell_id for verdict in verdicts} == arms
    assert len(speedups) == 3 * len(arms) == 6


def test_an_arm_is_never_compared_with_a_baseline_of_other_hardware(night: tuple[Rows, Rows, Rows]) -> None:
    measured, requests, pairs = night
    moved = [row | ({} if row["is_baseline"] else {"hardware_id": "another"}) for row in measured]
    assert derive("s", measured=moved, requests=requests, pairs=pairs, margin=MARGIN) == ([], [])


def test_only_pairs_of_the_same_hardware_engine_target_and_weights_are_history(night: tuple[Rows, Rows, Rows]) -> None:
    measured, requests, pairs = night
    nights = [row | {"sweep_id": f"night-{n}"} for n in range(1, 10) for row in pairs]

    def source(history: Rows) -> set[str]:
        speedups, _ = derive("s", measured=measured, requests=requests, pairs=pairs + history, margin=MARGIN)
        return {speedup.start_variance_source for speedup in speedups}

    assert source(nights) == {"history"}  # nine of them and tonight's
    assert source(named(nights, engine_id="0.1.0-cpu")) == {"prior"}
    assert source(named(nights, hardware_id="another")) == {"prior"}
    assert source(named(nights, weights="dummy")) == {"prior"}


def test_the_margin_moves_the_verdict_and_not_the_interval(night: tuple[Rows, Rows, Rows]) -> None:
    measured, requests, pairs = night
    (_, low), (_, high) = (
        derive("s", measured=measured, requests=requests, pairs=pairs, margin=margin) for margin in (0.5, 5.0)
    )
    assert [(v.lower, v.upper) for v in low] == [(v.lower, v.upper) for v in high]
    assert {v.verdict for v in low} == {"worth_it"}
    assert {v.verdict for v in high} == {"not_worth_it"}
