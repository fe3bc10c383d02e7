"""Counter differences, and every trap that /metrics sets."""

from pathlib import Path

import pytest

from pipeline.measure.counters import CounterReset, difference, in_flight, kv_cache_usage

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


def test_a_counter_that_is_gone_voids_the_window() -> None:
    with pytest.raises(CounterReset, match="num_drafts_total fell from 3 to 0"):
        difference(text(generated=1, drafts=3), text(generated=2))


def test_one_engine_s_restart_voids_the_window_where_positions_show_it() -> None:
    def position(accepted: int) -> str:
        return f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="1"}} {accepted}\n'

    with pytest.raises(CounterReset, match="at position 1 fell from 4 to 3"):
        difference(position(4), position(3))


def test_one_engine_s_restart_voids_the_window_where_the_sum_grew_all_the_same() -> None:
    def both(a: int, b: int) -> str:
        return f'vllm:generation_tokens_total{{engine="0"}} {a}\nvllm:generation_tokens_total{{engine="1"}} {b}\n'

    with pytest.raises(CounterReset, match='engine="0"} fell from 5 to 1'):
        difference(both(5, 5), both(1, 50))


def test_a_gauge_may_fall_in_a_window() -> None:
    def running(requests: int) -> str:
        return f'vllm:num_requests_running{{engine="0"}} {requests}\n'

    assert difference(text(generated=1) + running(4), text(generated=3) + running(0)).generated_tokens == 2


def test_positions_of_several_engines_are_summed() -> None:
    def both(a: int, b: int) -> str:
        name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        return f'{name}{{engine="0",position="0"}} {a}\n{name}{{engine="1",position="0"}} {b}\n'

    assert difference(both(1, 2), both(4, 6)).accepted_per_position == (3 + 4,)


def test_samples_of_a_step_are_not_tokens() -> None:
    """12 tokens came in 4 steps: the histogram grows by 4."""
    window = difference(text(generated=0, steps=0, seconds=0), text(generated=12, steps=4, seconds=2))
    assert (window.generated_tokens, window.engine_steps, window.step_seconds) == (12, 4, 2)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("time_per_output_token_seconds_count", "inter_token_latency_seconds_count", "engine_steps"),
        ("time_per_output_token_seconds_sum", "inter_token_latency_seconds_sum", "step_seconds"),
        ("gpu_prefix_cache_queries_total", "prefix_cache_queries_total", "prefix_cache_queries"),
        ("gpu_prefix_cache_hits_total", "prefix_cache_hits_total", "prefix_cache_hits"),
    ],
)
def test_a_counter_keeps_its_meaning_under_its_old_name_its_new_one_and_both(old: str, new: str, field: str) -> None:
    def page(value: int, *names: str) -> str:
        return "".join(f'vllm:{name}{{engine="0"}} {value}\n' for name in names)

    for names in ((old,), (new,), (old, new)):
        assert getattr(difference(page(2, *names), page(5, *names)), field) == 3, names


def test_other_histograms_of_times_per_token_are_not_steps() -> None:
    name = "vllm:request_time_per_output_token_seconds_count"
    assert difference("", f'{name}{{engine="0"}} 5\n').engine_steps is None


@pytest.mark.parametrize("name", ["kv_cache_usage_perc", "gpu_cache_usage_perc"])
def test_the_kv_cache_is_as_full_as_its_fullest_engine(name: str) -> None:
    page = "".join(f'vllm:{name}{{engine="{engine}"}} {usage}\n' for engine, usage in enumerate((0.2, 0.5, 0.3)))
    assert kv_cache_usage(page) == 0.5
    assert kv_cache_usage("") is None


def test_a_captured_window_has_its_times() -> None:
    before, after = ((FIXTURES / f"cpu-0.32.0-ngram-c4.{part}.prom").read_text() for part in ("before", "after"))
    window = difference(before, after)
    assert window.first_tokens == 4
    assert window.inference_seconds == pytest.approx(window.prefill_seconds + window.decode_seconds)
    assert window.step_seconds == pytest.approx(window.decode_seconds)
    assert (window.prefix_cache_queries, window.prefix_cache_hits, window.preemptions) == (223, 0, 0)


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
