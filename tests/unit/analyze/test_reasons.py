"""Why a verdict is what it is: every sentence from measured columns, and silence about what was not measured."""

from dataclasses import replace
from typing import Any

from pipeline.analyze.noise import StartVariance
from pipeline.analyze.reasons import reasons
from pipeline.analyze.samples import Sample, StartFacts, StartKey, Window
from tests.support import warehouse as build

ARM, BASE = "arm", "base"
START = StartKey(block_id="b", start_index=0, attempt=1)
HISTORY = StartVariance(variance=0.0009, degrees_of_freedom=20, source="history", pairs=20)
PRIOR = StartVariance(variance=0.0009, degrees_of_freedom=10, source="prior", pairs=3)
SPEEDUP = build.speedup(ARM)


def window(cell_id: str, **measured: Any) -> Window:
    return Window(cell_id, START, at_s=0.0, requests=2, concurrency=1, **measured)


def answer(cell_id: str, tokens: int | None) -> Sample:
    return Sample(cell_id, START, "p", e2e_latency_ms=1.0, tpot_ms=1.0, output_tokens=tokens, failed=False)


def said(*windows: Window, samples: tuple[Sample, ...] = (), starts: StartVariance = HISTORY, **more: Any) -> list[str]:
    """The sentences, the one about acceptance apart when nothing was drafted."""
    facts = more.pop("facts", None)
    speedup = replace(SPEEDUP, **more)
    found = reasons(speedup, windows, samples, baseline_cell_id=BASE, facts=facts, starts=starts)
    return [sentence for sentence in found if not sentence.startswith("nothing was drafted")]


def test_acceptance_is_pooled_over_repetitions() -> None:
    halves = (
        window(ARM, drafts=2, drafted_tokens=8, accepted_tokens=4),
        window(ARM, drafts=2, drafted_tokens=8, accepted_tokens=0),
    )
    # 4 of 16 tokens; 1 + 4 / 4 tokens a draft
    assert said(*halves) == ["25% of the drafted tokens were accepted, 2.00 tokens a draft"]


def test_a_method_that_found_no_candidate_is_named() -> None:
    (sentence,) = reasons(SPEEDUP, [window(ARM)], [], baseline_cell_id=BASE, facts=None, starts=HISTORY)
    assert sentence == "nothing was drafted: the method found no candidate"


def test_a_step_is_compared_by_what_it_yields_and_what_it_takes() -> None:
    arm = window(ARM, engine_steps=10, server_output_tokens=32, step_time_ms=15.0)
    base = window(BASE, engine_steps=20, server_output_tokens=22, step_time_ms=10.0)
    # (32 - 2) / 10 = 3 tokens a step against (22 - 2) / 20 = 1
    assert said(arm, base) == ["a step yields 3.00x the tokens (3.00) and takes 1.50x the time (10.0 -> 15.0 ms)"]


def test_without_steps_on_both_sides_nothing_is_said_of_them() -> None:
    arm = window(ARM, engine_steps=10, server_output_tokens=32, step_time_ms=15.0)
    assert said(arm, window(BASE)) == []
    assert said(replace(arm, step_time_ms=None), window(BASE, engine_steps=1, server_output_tokens=9)) == []


def test_a_first_token_that_takes_long_is_a_reason_and_a_short_one_is_none() -> None:
    heavy = [window(ARM, ttft_sum_share=share) for share in (0.3, 0.5)]
    assert said(*heavy) == ["the first token takes 40% of a request's time, which speculation does not shorten"]
    assert said(window(ARM, ttft_sum_share=0.29)) == []


def test_answers_of_another_length_are_named() -> None:
    samples = (answer(BASE, 100), answer(ARM, 90), answer(ARM, None))
    assert said(samples=samples) == ["answers differ in length (100.0 -> 90.0 output tokens): compared per token"]
    assert said(samples=(answer(BASE, 100), answer(ARM, 99))) == []
    assert said(samples=(answer(ARM, 99),)) == []


def test_what_the_engine_changed_for_speculation_is_named() -> None:
    base = StartFacts(model_runner="V2", async_scheduling=True, attention_backend="FLASH", kv_cache_tokens=1000)
    arm = StartFacts(model_runner="V1", async_scheduling=False, attention_backend="TRITON", kv_cache_tokens=750)
    assert said(facts=(base, arm)) == [
        "the baseline keeps asynchronous scheduling, speculation turns it off in this release",
        "the model runner differs: V2 in the baseline, V1 with speculation",
        "the attention backend differs: FLASH in the baseline, TRITON with speculation",
        "the KV cache holds 25% fewer tokens (1000 -> 750)",
    ]
    assert said(facts=(base, base)) == said(facts=(base, StartFacts())) == []


def test_lost_prompts_and_an_assumed_variance_are_owned_up_to() -> None:
    assert said(starts=PRIOR, dropped_prompts=2) == [
        "2 prompts failed in an arm and left the pairs",
        "server starts vary by an assumed 3.0% (a prior: 3 of 10 A/A pairs measured)",
    ]


def test_greedy_outputs_that_are_not_the_baselines_are_told_beside_the_control() -> None:
    arm = (window(ARM, identical_share=0.5), window(ARM, identical_share=1.0))
    sentence = "75% of the greedy outputs are the baseline's, character by character"
    assert said(*arm) == [sentence]
    assert said(*arm, window(BASE), window(BASE, identical_share=0.9)) == [
        f"{sentence}; the baseline's own, started again: 90%"
    ]
    assert said(window(ARM, identical_share=1.0), window(BASE, identical_share=0.9)) == []


def test_marked_repetitions_are_counted_with_what_marks_them() -> None:
    windows = (window(ARM, faults=("throttled", "client_busy")), window(ARM), window(BASE, faults=("throttled",)))
    assert said(*windows) == [
        "2 of 3 repetitions of both arms are marked (client_busy, throttled): believe the figures less"
    ]
