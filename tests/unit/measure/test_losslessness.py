"""Whether greedy outputs are the baseline's, and where they part."""

import pytest

from pipeline.measure.losslessness import losslessness, texts
from pipeline.measure.window import MeasuredWindow
from tests.support.values import make_record

REFERENCE = {("p1", 7): "hello world", ("p2", 7): "abc"}


def output(prompt_id: str, text: str | None, **changes: object):
    return make_record(prompt_id=prompt_id, text=text, **changes)


def measured(*records, **changes: object) -> dict:
    return losslessness(MeasuredWindow(records, **({"reference": REFERENCE} | changes)))


def test_identical_outputs_have_a_share_of_1_and_no_difference() -> None:
    assert measured(output("p1", "hello world"), output("p2", "abc")) == {
        "compared_outputs": 2,
        "identical_share": 1,
        "first_difference_median_chars": None,
        "first_difference_median_tokens": None,
    }


@pytest.mark.parametrize(
    ("text", "chars"), [("hello earth", 6), ("Hello world", 0), ("hello", 5), ("hello world!", 11), ("", 0)]
)
def test_outputs_part_at_the_first_character_that_differs(text: str, chars: int) -> None:
    found = measured(output("p1", text), output("p2", "abc"))
    assert (found["identical_share"], found["first_difference_median_chars"]) == (1 / 2, chars)


@pytest.mark.parametrize(
    ("text", "tokens"), [("hello earth", 3), ("hexlo world", 1), ("xello world", 0), ("hello worl", 4)]
)
def test_tokens_before_the_difference_are_those_of_earlier_chunks(text: str, tokens: int) -> None:
    record = output("p1", text, chunks=((10, 1), (20, 3), (30, 4)), chunk_chars=(2, 6, len(text)))
    assert measured(record)["first_difference_median_tokens"] == tokens


def test_tokens_are_unknown_where_chunks_have_no_characters() -> None:
    assert measured(output("p1", "x"))["first_difference_median_tokens"] is None


def test_medians_are_over_outputs_that_differ() -> None:
    found = measured(output("p1", "hello_"), output("p2", "a"), output("p1", "hello world"))
    assert found["first_difference_median_chars"] == (5 + 1) / 2


def test_outputs_pair_by_prompt_and_seed_and_failed_ones_are_left_out() -> None:
    others = [output("p1", "x", seed=8), output("p3", "x"), output("p2", "abc", error="timeout"), output("p2", None)]
    assert measured(*others)["compared_outputs"] is None
    assert texts([output("p1", "a"), *others[2:]]) == {("p1", 7): "a"}


@pytest.mark.parametrize("changes", [{"temperature": 0.8}, {"reference": None}])
def test_sampled_outputs_and_the_reference_itself_are_not_compared(changes: dict) -> None:
    assert set(measured(output("p1", "hello world"), **changes).values()) == {None}
