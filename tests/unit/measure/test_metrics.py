"""The catalogue is computed, every metric by one family; what marks a measurement."""

import math
from collections import Counter

import pytest

from pipeline.domain.catalogue import METRICS
from pipeline.measure.counters import CounterWindow, difference
from pipeline.measure.metrics import FAMILIES, faults, metrics
from pipeline.measure.window import MeasuredWindow
from pipeline.records.repetition import read_window
from pipeline.settings import REPOSITORY
from tests.support.values import make_record


def test_every_metric_of_the_catalogue_is_computed_once() -> None:
    window = MeasuredWindow(records=[make_record()])
    assert metrics(window).keys() == METRICS.keys()
    assert Counter(name for family in FAMILIES for name in family(window)) == Counter(METRICS.keys())


@pytest.mark.parametrize(
    "records",
    [
        [],
        [make_record(error="refused", chunks=())],
        [make_record(chunks=(), output_tokens=0, text="")],
        [make_record(chunks=((10, 1),))],
        [make_record(chunks=((0, 1),), end_ns=0)],
    ],
    ids=["nothing sent", "all failed", "no tokens", "one token", "no time passed"],
)
@pytest.mark.parametrize("counters", [CounterWindow(), CounterWindow(0, 0, 0, 0, (), 0, 0, 0.0, 0, 0, 0, 0.0)])
def test_nothing_is_ever_nan_and_only_a_count_is_0_by_default(records: list, counters: CounterWindow) -> None:
    found = metrics(MeasuredWindow(records=records, counters=counters, concurrency=1))
    assert all(value is None or math.isfinite(value) for value in found.values())
    assert all(isinstance(found[m.name], int | None) for m in METRICS.values() if m.kind == "count")
    assert all(found[m.name] is not None for m in METRICS.values() if m.undefined == "never")


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({}, ()),
        ({"delivered_concurrency": 0.98, "client_cpu_share": 0.7, "throttled_share": 0.05, "foreign_processes": 0}, ()),
        ({"delivered_concurrency": 0.97}, ("under_delivered",)),
        ({"client_cpu_share": 0.71}, ("client_busy",)),
        ({"client_busiest_core_share": 0.71}, ("client_busy",)),
        ({"foreign_processes": 1}, ("foreign_process",)),
        ({"throttled_share": 0.06}, ("throttled",)),
    ],
)
def test_faults_begin_beyond_their_limits_and_what_was_not_seen_is_none(figures: dict, expected: tuple) -> None:
    assert faults(dict.fromkeys(METRICS) | figures) == expected


def test_a_recorded_window_of_another_release_agrees_with_itself() -> None:
    """vLLM 0.25.1 on an H200, recorded before there was telemetry: what can be counted twice is the same twice."""
    paths = sorted((REPOSITORY / "samples").glob("h200-smoke-*/*/starts/*-arm-ngram-*/1/*/1/MANIFEST.json"))
    for path in paths:
        _, window = read_window(path.parent)
        measured = MeasuredWindow(window.requests, counters=difference(window.before, window.after))
        found = metrics(measured)
        assert (found["token_count_gap"], found["chunk_token_gap"]) == (0, 0)
        assert 0 < found["ttft_gap_ms"] < found["ttft_mean_ms"]
        assert found["step_time_ms"] * found["engine_steps"] == pytest.approx(1000 * found["decode_time_s"], rel=1e-6)
        assert found["inference_time_s"] == pytest.approx(found["prefill_time_s"] + found["decode_time_s"], rel=1e-6)
        assert found["tokens_per_step"] < found["mean_acceptance_length"]  # steps without a draft
        assert found["acceptance_rate"] < found["per_token_acceptance"] < 1
        assert (found["energy_joules"], found["telemetry_samples"]) == (None, None)
    assert len(paths) == 6
