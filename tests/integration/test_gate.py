"""The gate on a real Postgres: good rows pass, and each fault is found by exactly the expectation that is for it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from sqlalchemy import Engine

from pipeline.domain.block import CellOutcome
from pipeline.domain.validation import ValidationOutcome
from pipeline.errors import EnvironmentFault
from pipeline.validate.gate import run
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import BlockLoad, stage
from pipeline.warehouse.publish import record_validation
from tests.support import warehouse as build

ARM = build.cell().cell_id
BASE = build.cell(build.BASE).cell_id
SECRET = "do-not-show-this"  # noqa: S105  # pragma: allowlist secret - made up for the test


@pytest.fixture(scope="module")
def engine(warehouse_url: str) -> Iterator[Engine]:
    engine = open_warehouse(warehouse_url)
    yield engine
    engine.dispose()


Said = Callable[[BlockLoad], list[ValidationOutcome]]


@pytest.fixture
def said(engine: Engine, warehouse_url: str) -> Said:
    return lambda load: run(warehouse_url, stage(engine, load), block=load.block)


def load_at(concurrency: int = 1) -> BlockLoad:
    return build.block_load(build.block(concurrencies=(concurrency,)))


def arm_at(concurrency: int) -> str:
    return build.cell(concurrency=concurrency).cell_id


def baseline_at(concurrency: int) -> str:
    return build.cell(build.BASE, concurrency=concurrency).cell_id


def with_metrics(load: BlockLoad, *, position: str = "arm", **metrics: float | None) -> BlockLoad:
    """Return the load, its first measurement in `position` saying `metrics`."""
    index = next(i for i, m in enumerate(load.measurements) if m.position == position)
    measurements = list(load.measurements)
    measurements[index] = replace(measurements[index], metrics=measurements[index].metrics | metrics)
    return replace(load, measurements=tuple(measurements))


def with_request(load: BlockLoad, **changes: Any) -> BlockLoad:
    """Return the load, its first speculative request saying `changes`."""
    requests = list(load.requests)
    index = next(i for i, (key, _) in enumerate(requests) if key.start_index == 1)
    requests[index] = (requests[index][0], replace(requests[index][1], **changes))
    return replace(load, requests=requests)


def with_position(load: BlockLoad, index: int, **changes: int) -> BlockLoad:
    """Return the load, the acceptance at one position saying `changes`."""
    acceptance = list(load.acceptance)
    acceptance[index] = replace(acceptance[index], **changes)
    return replace(load, acceptance=tuple(acceptance))


def without_the_last(load: BlockLoad) -> BlockLoad:
    """Return the load without its last repetition."""
    last = load.measurements[-1].key
    kept = [(key, row) for key, row in load.requests if key != last]
    return replace(load, measurements=load.measurements[:-1], requests=kept)


def merged(loads: list[BlockLoad]) -> BlockLoad:
    """Return one load of a block that holds the cells of all of `loads`."""
    concurrencies = [load.block.starts[0].cells[0].concurrency for load in loads]
    return replace(
        build.block_load(build.block(concurrencies=concurrencies)),
        measurements=tuple(chain.from_iterable(load.measurements for load in loads)),
        acceptance=tuple(chain.from_iterable(load.acceptance for load in loads)),
        requests=list(chain.from_iterable(load.requests for load in loads)),
    )


Fault = tuple[Callable[[BlockLoad], BlockLoad], set[str], Callable[[int], str]]
FAULTS: dict[str, Fault] = {
    "fewer requests than planned": (lambda load: with_metrics(load, requests=1), {"requests_as_planned"}, arm_at),
    "a repetition is missing": (without_the_last, {"repetitions_present"}, baseline_at),
    "a repetition twice": (
        lambda load: replace(load, measurements=(*load.measurements, load.measurements[-1])),
        {"repetition_once"},
        baseline_at,
    ),
    "no time passed": (lambda load: with_metrics(load, tpot_mean_ms=0.0), {"time_positive"}, arm_at),
    "a rate above 1": (lambda load: with_metrics(load, prefill_share=1.5), {"share_in_range"}, arm_at),
    "a counter went back": (lambda load: with_metrics(load, preemptions=-1), {"count_not_negative"}, arm_at),
    "requests failed": (lambda load: with_metrics(load, failed_requests=1), {"no_failed_requests"}, arm_at),
    "more accepted than drafted": (
        lambda load: with_metrics(load, accepted_tokens=25),
        {"accepted_within_drafted"},
        arm_at,
    ),
    "acceptance length below 1": (
        lambda load: with_metrics(load, mean_acceptance_length=0.5),
        {"acceptance_length_at_least_1"},
        arm_at,
    ),
    "acceptance length above k + 1": (
        lambda load: with_metrics(load, mean_acceptance_length=5.5),
        {"acceptance_length_at_most_k_1"},
        arm_at,
    ),
    "the baseline drafts": (
        lambda load: with_metrics(load, position="opening", drafts=1),
        {"baseline_drafts_nothing"},
        baseline_at,
    ),
    "too many output tokens": (lambda load: with_metrics(load, output_tokens=21), {"output_within_limit"}, arm_at),
    "chunks count otherwise": (
        lambda load: with_metrics(load, chunk_token_gap=1),
        {"chunks_count_as_usage"},
        arm_at,
    ),
    "counts differ": (lambda load: with_metrics(load, token_count_gap=3), {"no_token_count_gap"}, arm_at),
    "a request twice": (
        lambda load: replace(load, requests=[*load.requests, list(load.requests)[-1]]),
        {"request_once", "request_rows_as_planned"},
        baseline_at,
    ),
    "a request row is missing": (
        lambda load: replace(load, requests=list(load.requests)[:-1]),
        {"request_rows_as_planned"},
        baseline_at,
    ),
    "a request has an error": (lambda load: with_request(load, error="timeout"), {"no_error"}, arm_at),
    "a request has no count": (lambda load: with_request(load, output_tokens=None), {"output_counted"}, arm_at),
    "a request has no output": (lambda load: with_request(load, output_tokens=0), {"output_not_empty"}, arm_at),
    "a first token in no time": (lambda load: with_request(load, ttft_ms=0.0), {"ttft_positive"}, arm_at),
    "an end before the first token": (
        lambda load: with_request(load, e2e_latency_ms=50.0),
        {"end_after_first_token"},
        arm_at,
    ),
    "a position accepted too often": (
        lambda load: with_position(load, 0, accepted=7),
        {"position_within_drafts"},
        arm_at,
    ),
    "a position beyond k": (lambda load: with_position(load, 3, draft_position=4), {"position_within_k"}, arm_at),
    "acceptance rises": (
        lambda load: with_position(load, 3, accepted=3),
        {"acceptance_falls_with_position"},
        arm_at,
    ),
}
CONCURRENCY = {fault: concurrency for concurrency, fault in enumerate(FAULTS, start=1)}


@pytest.fixture(scope="module")
def faults_said(engine: Engine, warehouse_url: str) -> list[ValidationOutcome]:
    """What one run of the gate says of a block in which each fault has cells of its own."""
    load = merged([make(load_at(CONCURRENCY[fault])) for fault, (make, _, _) in FAULTS.items()])
    return run(warehouse_url, stage(engine, load), block=load.block)


def test_good_rows_pass_everything(said: Said) -> None:
    assert [outcome for outcome in said(load_at()) if not outcome.success] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_in_its_cell_and_nothing_else_is(faults_said: list[ValidationOutcome], fault: str) -> None:
    _, expected, guilty = FAULTS[fault]
    concurrency = CONCURRENCY[fault]
    found = [(o.expectation, cell_id) for o in faults_said for cell_id in o.cell_ids]
    of_cells = {(name, cell) for name, cell in found if cell in {arm_at(concurrency), baseline_at(concurrency)}}
    assert of_cells == {(name, guilty(concurrency)) for name in expected}


def test_what_failed_is_critical_and_explained(faults_said: list[ValidationOutcome]) -> None:
    failed = [outcome for outcome in faults_said if not outcome.success]
    assert {outcome.severity for outcome in failed} == {"critical"}
    assert all(outcome.details and outcome.cell_ids for outcome in failed)


def test_every_critical_expectation_has_a_fault(faults_said: list[ValidationOutcome]) -> None:
    critical = {outcome.expectation for outcome in faults_said if outcome.severity == "critical"}
    assert critical == set().union(*(expected for _, expected, _ in FAULTS.values()))


WARNINGS: list[tuple[dict[str, Any], str]] = [
    ({"client_cpu_share": 0.71}, "client_has_room"),
    ({"client_busiest_core_share": 0.71}, "client_has_room"),
    ({"delivered_concurrency": 0.97}, "concurrency_delivered"),
    ({"foreign_processes": 1}, "gpu_to_itself"),
    ({"throttled_share": 0.06}, "clocks_free"),
    ({"ttft_gap_ms": -2.0}, "ttft_not_before_the_server"),
    ({"position": "closing", "identical_share": 0.5}, "baseline_repeats_itself"),
    ({"drafts": 0, "drafted_tokens": 0, "accepted_tokens": 0, "acceptance_rate": None}, "speculation_drafts"),
]


@pytest.fixture(scope="module")
def warnings_said(engine: Engine, warehouse_url: str) -> list[ValidationOutcome]:
    """The same of a block in which each warning has cells of its own."""
    load = merged([with_metrics(load_at(number), **metrics) for number, (metrics, _) in enumerate(WARNINGS, start=1)])
    return run(warehouse_url, stage(engine, load), block=load.block)


@pytest.mark.parametrize(("number", "expected"), [(n, expected) for n, (_, expected) in enumerate(WARNINGS, start=1)])
def test_a_warning_does_not_quarantine(warnings_said: list[ValidationOutcome], number: int, expected: str) -> None:
    failed = [o for o in warnings_said if not o.success and {arm_at(number), baseline_at(number)} & set(o.cell_ids)]
    assert [(outcome.expectation, outcome.severity) for outcome in failed] == [(expected, "warning")]


def test_a_failed_cell_need_not_have_its_repetitions(said: Said) -> None:
    load = without_the_last(load_at())
    outcomes = tuple(
        CellOutcome(2, BASE, "failed", "died", "engine_died") if outcome.start_index == 2 else outcome
        for outcome in load.outcomes
    )
    assert [outcome for outcome in said(replace(load, outcomes=outcomes)) if not outcome.success] == []


def test_every_bad_cell_is_named_however_many_rows_fail(said: Said) -> None:
    """Great Expectations returns 200 failing rows at most: here 2 x 3 x 2 x 30 of 30 x 2 cells fail."""
    load = build.block_load(build.block(concurrencies=range(1, 31)))
    broken = replace(load, requests=[(key, replace(row, error="timeout")) for key, row in load.requests])
    failed = [outcome for outcome in said(broken) if not outcome.success]
    assert [(o.expectation, o.observed["failing"], len(o.cell_ids)) for o in failed] == [("no_error", 360, 60)]


def test_what_was_said_is_kept_once(engine: Engine, warehouse_url: str) -> None:
    load = with_metrics(load_at(), accepted_tokens=25)
    load_id = stage(engine, load)
    outcomes = run(warehouse_url, load_id, block=load.block)
    record_validation(engine, load_id, outcomes)
    record_validation(engine, load_id, outcomes)
    kept = queries.failed_validations(engine, load_id)
    assert [(row["expectation"], row["cell_ids"]) for row in kept] == [("accepted_within_drafted", [ARM])]
    assert kept[0]["observed"]["examples"] == [{"cell_id": ARM, "drafted_tokens": 24, "accepted_tokens": 25}]


def test_a_database_that_is_down_is_an_environment_fault_without_the_password() -> None:
    with pytest.raises(EnvironmentFault, match=r"127.0.0.1:1/nothing cannot be reached") as caught:
        run(f"postgresql://specwatch:{SECRET}@127.0.0.1:1/nothing", "0", block=build.block())
    assert SECRET not in repr(caught.getrepr(style="short"))


def test_the_gate_leaves_no_file_behind(said: Said, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    said(load_at())
    assert list(tmp_path.rglob("*")) == []
