"""Speedups: the arithmetic on small numbers, and intervals that contain the truth as often as they say."""

import math
from dataclasses import replace

import pytest

from pipeline.analyze.noise import PRIOR_START_SD, StartVariance, start_variance
from pipeline.analyze.pairing import brackets
from pipeline.analyze.samples import Sample, StartKey, Window
from pipeline.analyze.speedup import cell_speedups
from pipeline.domain.verdict import Speedup
from tests.support.night_analysis import measure_night
from tests.support.nights import Night

BASE, ARM = "b" * 12, "a" * 12
PRIOR = start_variance({})
NO_NOISE = StartVariance(variance=0.0, degrees_of_freedom=10, source="history", pairs=10)


def sample(cell: str, index: int, prompt: str, ms: float, **changes: object) -> Sample:
    start = StartKey("block", index, 1)
    values: dict = {"e2e_latency_ms": ms, "tpot_ms": ms / 2, "output_tokens": 1, "failed": False} | changes
    return Sample(cell, start, prompt, **values)


def window(cell: str, index: int, at_s: float, *, attempt: int = 1) -> Window:
    return Window(
        cell,
        StartKey("block", index, attempt),
        at_s=at_s,
        requests=4,
        concurrency=2,
    )


def speedups(samples: list[Sample], windows: list[Window], *, starts: StartVariance = NO_NOISE) -> dict[str, Speedup]:
    found = cell_speedups(
        samples, windows, sweep_id="s", cell_id=ARM, hardware_id="h", baseline_cell_id=BASE, starts=starts
    )
    return {speedup.metric: speedup for speedup, _ in found}


def three(base: float, arm: float, closing: float, *, prompts: int = 2) -> list[Sample]:
    return [
        sample(cell, index, f"p{i}", ms)
        for index, (cell, ms) in enumerate(((BASE, base), (ARM, arm), (BASE, closing)))
        for i in range(prompts)
    ]


WINDOWS = [window(BASE, 0, 0), window(ARM, 1, 50), window(BASE, 2, 100)]


def test_a_time_that_halves_is_a_speedup_of_two() -> None:
    found = speedups(three(100, 50, 100), WINDOWS)
    assert found["latency_speedup"].estimate == pytest.approx(2)
    assert found["decode_speedup"].estimate == pytest.approx(2)
    assert found["throughput_speedup"].estimate == pytest.approx(2)
    assert found["latency_speedup"].baseline_value == pytest.approx(100)
    # a place in the loop yields a token in 50 ms, and there are two
    assert found["throughput_speedup"].speculative_value == pytest.approx(2 * 20)


def test_in_an_open_loop_throughput_is_undefined_because_the_arrivals_set_it() -> None:
    found = speedups(three(100, 50, 100), [replace(window, concurrency=None) for window in WINDOWS])
    assert found.keys() == {"latency_speedup", "decode_speedup"}


def test_linear_drift_between_the_baselines_cancels() -> None:
    closing = 100 * math.exp(0.2)
    found = speedups(three(100, 50 * math.exp(0.1), closing), WINDOWS)
    assert found["latency_speedup"].estimate == pytest.approx(2)


def test_without_a_closing_baseline_the_opening_counts_in_full() -> None:
    samples = [s for s in three(100, 50, 1) if s.start.start_index < 2]
    found = speedups(samples, WINDOWS[:2])
    assert found["latency_speedup"].estimate == pytest.approx(2)
    assert found["latency_speedup"].baseline_starts == 1


def test_without_any_baseline_there_is_no_speedup() -> None:
    assert speedups([s for s in three(100, 50, 100) if s.cell_id == ARM], WINDOWS[1:2]) == {}


def test_the_nearest_baselines_of_a_reopened_block_bracket_the_arm() -> None:
    windows = [window(BASE, 0, 0), window(BASE, 0, 4000, attempt=2), window(ARM, 1, 4050), window(BASE, 2, 4100)]
    (bracket,) = brackets(windows, cell_id=ARM, baseline_cell_id=BASE)
    assert [(start.start_index, start.attempt, weight) for start, weight in bracket.baselines] == [
        (0, 2, 0.5),
        (2, 1, 0.5),
    ]
    assert bracket.variance_factor == 1.5


def test_a_prompt_that_failed_in_either_arm_leaves_the_pairs_and_is_counted() -> None:
    def broke(s: Sample) -> bool:
        return (s.cell_id, s.start.start_index, s.prompt_id) in {(BASE, 0, "p0"), (ARM, 1, "p1")}

    samples = [replace(s, failed=broke(s)) for s in three(100, 50, 100, prompts=4)]
    found = speedups(samples, WINDOWS)
    assert (found["latency_speedup"].pairs, found["latency_speedup"].dropped_prompts) == (2, 2)


def test_one_failed_repetition_drops_its_prompt() -> None:
    samples = [*three(100, 50, 100, prompts=3), sample(ARM, 1, "p0", 50, failed=True)]
    found = speedups(samples, WINDOWS)
    assert (found["latency_speedup"].pairs, found["latency_speedup"].dropped_prompts) == (2, 1)


def test_one_prompt_has_no_spread_and_so_no_speedup() -> None:
    assert speedups(three(100, 50, 100, prompts=1), WINDOWS) == {}


def test_undefined_tpot_leaves_the_other_speedups() -> None:
    samples = [replace(s, tpot_ms=None) for s in three(100, 50, 100)]
    assert set(speedups(samples, WINDOWS)) == {"latency_speedup", "throughput_speedup"}


def test_the_same_data_gives_the_same_interval() -> None:
    assert measure_night(Night(), 1)[1].speedups() == measure_night(Night(), 1)[1].speedups()


def test_outputs_of_different_length_are_compared_per_token() -> None:
    samples = [
        replace(s, e2e_latency_ms=200.0, output_tokens=4) if s.cell_id == ARM else s for s in three(100, 50, 100)
    ]
    assert speedups(samples, WINDOWS)["latency_speedup"].estimate == pytest.approx(2)


def test_the_prior_is_updated_by_few_pairs_and_replaced_by_ten() -> None:
    assert PRIOR.source == "prior"
    assert math.sqrt(PRIOR.variance) == pytest.approx(PRIOR_START_SD)
    noisy = start_variance({"night": [0.4, -0.4]})
    assert noisy.variance == pytest.approx((10 * PRIOR_START_SD**2 + 0.16 / 2) / 11)
    ten = start_variance({str(n): [0.1] for n in range(10)})
    assert (ten.source, ten.pairs) == ("history", 10)
    # E[min(|x|, 2.5)^2] of a standard normal is 0.9776
    assert ten.variance == pytest.approx(0.1**2 / 0.97756 / 2)


def test_one_broken_night_moves_the_history_little() -> None:
    quiet = {str(n): [0.05 if n % 2 else -0.05] for n in range(20)}
    broken = start_variance(quiet | {"broken": [1.0]})
    assert math.sqrt(broken.variance / start_variance(quiet).variance) < 1.25


def test_throughput_is_of_a_full_loop_and_weighs_prompts_by_their_time() -> None:
    # p0 takes 100 ms and then 25, p1 20 ms and then 20: (100 + 20) / (25 + 20), not the mean of 4 and 1
    times = {("p0", BASE): 100, ("p0", ARM): 25, ("p1", BASE): 20, ("p1", ARM): 20}
    samples = [
        sample(cell, index, prompt, times[prompt, cell])
        for index, cell in enumerate((BASE, ARM, BASE))
        for prompt in ("p0", "p1")
    ]
    assert speedups(samples, WINDOWS)["throughput_speedup"].estimate == pytest.approx(120 / 45)


def test_fewer_prompts_than_users_cannot_fill_the_loop() -> None:
    windows = [replace(w, requests=1) for w in WINDOWS]
    assert speedups(three(100, 50, 100), windows)["throughput_speedup"].speculative_value == pytest.approx(20)
