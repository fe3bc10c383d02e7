"""Arithmetic in which nothing divided by nothing is undefined, not zero."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TypeVar

T = TypeVar("T")


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Return the quotient; None when either is missing or the denominator is 0."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; None of nothing."""
    return fmean(values) if values else None


def defined(values: Iterable[T | None]) -> list[T]:
    """Return the values that are not None."""
    return [value for value in values if value is not None]
