"""Verdicts follow from the interval; what would decide an undecided one is estimated."""

import math

import pytest

from pipeline.analyze.interval import Interval
from pipeline.analyze.verdict import decide
from pipeline.domain.verdict import Speedup, Verdict


def verdict(
    estimate: float, *, prompt_sd: float = 0.0, start_sd: float = 0.0, margin: float = 1.05, arm_starts: int = 1
) -> Verdict:
    interval = Interval(math.log(estimate), prompt_sd**2, start_sd**2, degrees_of_freedom=30)
    speedup = Speedup(
        sweep_id="s",
        cell_id="c",
        hardware_id="h",
        metric="latency_speedup",
        estimate=estimate,
        lower=math.exp(interval.log_lower),
        upper=math.exp(interval.log_upper),
        probability_of_loss=interval.probability_below(0.0),
        degrees_of_freedom=30,
        pairs=8,
        dropped_prompts=0,
        arm_starts=arm_starts,
        baseline_starts=2,
        prompt_variance=prompt_sd**2,
        start_variance=start_sd**2,
        start_variance_source="prior",
        baseline_value=1,
        speculative_value=1,
        unit="ms/token",
    )
    return decide(speedup, interval, margin=margin, aa_log_ratio=None, reasons=("because",))


@pytest.mark.parametrize(
    ("estimate", "word", "harmful"),
    [(1.6, "worth_it", False), (1.02, "not_worth_it", False), (0.8, "not_worth_it", True)],
)
def test_a_narrow_interval_decides(estimate: float, word: str, harmful: bool) -> None:
    found = verdict(estimate, start_sd=0.005)
    assert (found.verdict, found.harmful, found.blocks_to_decide) == (word, harmful, None)
    assert found.reasons == ("because",)


def test_an_interval_across_the_margin_is_undecided_and_says_how_many_blocks() -> None:
    found = verdict(1.15, start_sd=0.06)
    assert found.verdict == "undecided"
    # gap ln(1.15 / 1.05) = 0.0910; t = 2.042: variance allowed (0.0446)^2 = 0.00199; 0.0036 / 0.00199 -> 2 blocks
    assert found.blocks_to_decide == 2


def test_when_prompts_differ_too_much_more_prompts_are_named_instead() -> None:
    found = verdict(1.15, prompt_sd=0.1)
    assert found.blocks_to_decide is None
    assert "about 41 would decide" in found.reasons[0]


def test_when_neither_alone_decides_both_are_named() -> None:
    # allowed 0.00199, as above; half of it each: 2 x 0.01 x 8 / 0.00199 -> 81 prompts, 2 x 0.0036 / 0.00199 -> 4 blocks
    found = verdict(1.15, prompt_sd=0.1, start_sd=0.06)
    assert found.blocks_to_decide is None
    assert found.reasons[0] == "about 81 prompts and 4 blocks together would decide"


def test_an_estimate_on_the_margin_is_not_promised_a_decision() -> None:
    found = verdict(1.05, start_sd=0.06)
    assert (found.verdict, found.blocks_to_decide) == ("undecided", None)
    assert "no reasonable number of repetitions" in found.reasons[0]


def test_the_margin_moves_the_verdict() -> None:
    assert verdict(1.1, start_sd=0.01, margin=1.0).verdict == "worth_it"
    assert verdict(1.1, start_sd=0.01, margin=1.2).verdict == "not_worth_it"


def test_the_probability_of_a_loss_is_that_of_the_interval() -> None:
    assert verdict(1.0, start_sd=0.1).probability_of_loss == pytest.approx(0.5)
    assert verdict(1.6, start_sd=0.01).probability_of_loss < 0.001
