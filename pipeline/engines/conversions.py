"""How a value changes with a renamed speculative-config key. Pure.

Synthetic acceptance, k drafted tokens a step: 0.19 takes the mean over positions of the probability that a token and
all before it are accepted; later releases take these probabilities, or 1 + their sum (the mean acceptance length).
"""

from collections.abc import Callable
from typing import Any, Literal

Conversion = Literal["rate_to_length", "length_to_rate", "mean"]


def convert(value: Any, *, how: Conversion | None, k: int) -> Any:
    """Return `value` as the other key takes it; `k` is num_speculative_tokens. Raises TypeError, ValueError."""
    return value if how is None else _CONVERSIONS[how](value, k)


def _rounded(value: float) -> float:
    return round(value, 9)  # 1 + 4 * 0.59 is no 3.3600000000000003


_CONVERSIONS: dict[Conversion, Callable[[Any, int], float]] = {
    "rate_to_length": lambda rate, k: _rounded(1 + float(rate) * k),
    "length_to_rate": lambda length, k: _rounded((float(length) - 1) / k),
    "mean": lambda rates, _k: _rounded(sum(map(float, rates)) / len(rates)),
}
