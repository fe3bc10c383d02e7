"""What held of what was drafted: rates, the theory's chance, positions, steps."""

import pytest

from pipeline.measure.acceptance import acceptance, by_position, per_token_acceptance
from pipeline.measure.counters import CounterWindow
from pipeline.measure.speculation_rates import speculation_rates
from pipeline.measure.steps import steps
from pipeline.measure.window import MeasuredWindow
from tests.support.values import make_record

ONE = [make_record(chunks=((10, 1), (20, 9)))]  # 9 tokens in 20 ms


def window(**counters: object) -> MeasuredWindow:
    return MeasuredWindow(ONE, counters=CounterWindow(**counters))


def test_rates_come_from_counters() -> None:
    found = acceptance(window(drafts=2, drafted_tokens=8, accepted_tokens=6))
    assert (found["acceptance_rate"], found["mean_acceptance_length"]) == (6 / 8, 1 + 6 / 2)


@pytest.mark.parametrize("counters", [{}, {"drafts": 0, "drafted_tokens": 0, "accepted_tokens": 0}])
def test_nothing_drafted_is_undefined_and_neither_zero_nor_one(counters: dict) -> None:
    found = acceptance(window(**counters))
    undefined = ("acceptance_rate", "mean_acceptance_length", "per_token_acceptance")
    assert [found[name] for name in undefined] == [None] * 3


@pytest.mark.parametrize(("a", "k"), [(0.5, 1), (0.5, 4), (0.9, 3), (0.01, 8), (0.0, 4), (1.0, 4)])
def test_the_theory_s_chance_is_found_again(a: float, k: int) -> None:
    accepted = sum(a**i for i in range(1, k + 1))
    assert per_token_acceptance(accepted, k=k) == pytest.approx(a, abs=1e-9)


def test_drafts_of_different_lengths_have_a_k_between_integers() -> None:
    assert per_token_acceptance(1 - 0.5**1.5, k=1.5) == pytest.approx(0.5)


def test_more_accepted_than_drafted_has_no_chance() -> None:
    assert per_token_acceptance(5.0, k=4) is None


def test_positions_unconditional_and_conditional() -> None:
    counters = CounterWindow(drafts=8, accepted_per_position=(6, 3, 0, 0))
    assert list(by_position(counters)) == [
        (6, 6 / 8, 6 / 8),
        (3, 3 / 8, 3 / 6),
        (0, 0, 0),
        (0, 0, None),  # nothing came so far: whether it would have held is unknown
    ]


def test_tokens_drafted_in_vain_are_wasted() -> None:
    assert speculation_rates(window(drafted_tokens=8, accepted_tokens=6)) == {
        "drafted_tokens_per_s": 8 / 0.02,
        "accepted_tokens_per_s": 6 / 0.02,
        "wasted_tokens_per_s": 2 / 0.02,
    }
    assert set(speculation_rates(window()).values()) == {None}


def test_steps_that_drafted_nothing_count_as_steps() -> None:
    """1 + accepted / drafts says 4 tokens a step; two of the four steps drafted nothing."""
    found = steps(window(generated_tokens=9, drafts=2, accepted_tokens=6, engine_steps=4, step_seconds=0.2))
    assert found == {"engine_steps": 4, "tokens_per_step": (9 - 1) / 4, "step_time_ms": 50}


@pytest.mark.parametrize("counters", [{}, {"generated_tokens": 1, "engine_steps": 0, "step_seconds": 0.0}])
def test_without_a_step_there_are_no_tokens_a_step(counters: dict) -> None:
    found = steps(window(**counters))
    assert (found["tokens_per_step"], found["step_time_ms"]) == (None, None)
