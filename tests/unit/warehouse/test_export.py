"""Units and near names, without a database."""

import pytest

from pipeline.warehouse.export import nearest, unit_of


@pytest.mark.parametrize(
    ("name", "comment", "unit"),
    [
        ("window_s", "last end - first send [s]. NULL: no request was sent.", "s"),
        ("ttft_ms", "ms from send to the first chunk.", "ms"),
        ("output_tokens_per_s", None, "tokens/s"),
        ("requests_per_s", None, "requests/s"),
        ("memory_bytes", None, "bytes"),
        ("step_time_ms", "said otherwise [us]", "us"),
        ("name", "Name in the matrix.", None),
        ("repetitions", None, None),
    ],
)
def test_a_unit_is_what_the_comment_says_or_the_name_ends_in(name: str, comment: str | None, unit: str | None) -> None:
    assert unit_of(name, comment) == unit


def test_a_near_word_is_offered_and_else_all_of_them() -> None:
    assert nearest("verdict", ["verdicts", "cell"]) == "did you mean verdicts?"
    assert nearest("zzz", ["verdicts", "cell"]) == "there are: verdicts, cell."
