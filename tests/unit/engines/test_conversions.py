"""Synthetic acceptance under the names of two releases: the mean stays."""

import pytest

from pipeline.engines.conversions import Conversion, convert


@pytest.mark.parametrize(
    ("value", "how", "expected"),
    [
        (0.59, "rate_to_length", 3.36),  # 1 + 4 x 0.59
        (3.36, "length_to_rate", 0.59),  # (3.36 - 1) / 4
        ([1.0, 0.5, 0.0, 0.0], "mean", 0.375),
        ("as it is", None, "as it is"),
    ],
)
def test_a_value_becomes_what_the_other_key_takes(value: object, how: Conversion | None, expected: object) -> None:
    assert convert(value, how=how, k=4) == expected


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        convert("many", how="length_to_rate", k=4)
