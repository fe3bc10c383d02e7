"""Counter differences, and every trap that /metrics sets."""

from pathlib import Path

import pytest

from pipeline.measure.counters import CounterReset, difference, in_flight

FIXTURES = Path(__file__).parents[2] / "support" / "fixtures" / "vllm"


def text(**values: float) -> str:
    names = {
        "generated": "vllm:generation_tokens_total",
        "drafts": "vllm:spec_decode_num_drafts_total",
        "drafted": "vllm:spec_decode_num_draft_tokens_total",
        "accepted": "vllm:spec_decode_num_accepted_tokens_total",
        "steps": "vllm:inter_token_latency_seconds_count",
        "seconds": "vllm:inter_token_latency_seconds_sum",
    }
    return "".join(f'{names[key]}{{engine="0",model_name="m"}} {value}\n' for key, value in values.items())


def test_differences_are_taken_not_totals() -> None:
    window = difference(
        text(generated=10, drafts=1, drafted=4, accepted=2), text(generated=30, drafts=6, drafted=24, accepted=14)
    )
    assert (window.generated_tokens, window.drafts, window.drafted_tokens, window.accepted_tokens) == (20, 5, 20, 12)


def test_created_twins_are_not_counters() -> None:
    twin = 'vllm:generation_tokens_created{engine="0"} 1.7e9\n'
    assert difference(text(generated=1), text(generated=3) + twin).generated_tokens == 2


def test_engines_of_data_parallel_are_summed() -> None:
    def both(a: int, b: int) -> str:
        return f'vllm:generation_tokens_total{{engine="0"}} {a}\nvllm:generation_tokens_total{{engine="1"}} {b}\n'

    assert difference(both(1, 2), both(11, 22)).generated_tokens == 30


def test_a_counter_that_is_absent_is_none_and_not_zero() -> None:
    window = difference(text(generated=1), text(generated=2))
    assert (window.drafts, window.engine_steps, window.preemptions) == (None, None, None)
    assert window.accepted_per_position == ()


def test_a_counter_that_appears_in_the_window_started_from_zero() -> None:
    assert difference("", text(drafts=3)).drafts == 3


def test_a_counter_that_fell_voids_the_window() -> None:
    with pytest.raises(CounterReset, match="generation_tokens_total fell from 10 to 4"):
        difference(text(generated=10), text(generated=4))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu-0.32.0-ngram-c4", (287, 56, 223, 174, (49, 42, 42, 41), 110)),
        ("cpu-0.32.0-baseline-c4", (None, None, None, None, (), None)),
    ],
)
def test_captured_windows(name: str, expected: tuple) -> None:
    window = difference((FIXTURES / f"{name}.before.prom").read_text(), (FIXTURES / f"{name}.after.prom").read_text())
    found = (
        window.generated_tokens,
        window.drafts,
        window.drafted_tokens,
        window.accepted_tokens,
        window.accepted_per_position,
        window.engine_steps,
    )
    if expected[0] is None:  # a baseline: no speculation counters, one token a step
        assert found[1:5] == (None, None, None, ())
        assert window.engine_steps == window.generated_tokens - 4
    else:
        assert found == expected


def test_requests_in_flight_are_running_plus_waiting() -> None:
    assert in_flight('vllm:num_requests_running{engine="0"} 2\nvllm:num_requests_waiting{engine="0"} 1\n') == 3
    assert in_flight("") is None
