"""Factors as a person may write them: one value or a list; `stated` for what a prompt set states of itself."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, PlainValidator

STATED: Final = "stated"
Stated = Literal["stated"]

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=64)]
Positive = Annotated[int, Field(ge=1)]


class Entry(BaseModel):
    """A mapping in the file: unknown keys are refused, nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def first_repeated(values: Sequence[Any]) -> Any:
    """Return the first of `values` that stands there twice; None when they differ."""
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def differ(value: list[Any]) -> list[Any]:
    """Return `value`. Raises ValueError when it names something twice."""
    if (twice := first_repeated(value)) is not None:
        message = f"{twice!r} stands there twice"
        raise ValueError(message)
    return value


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _as_written(value: list[Any]) -> Any:
    return value[0] if len(value) == 1 else value


def _temperature(value: Any) -> float | Stated:
    if value == STATED:
        return STATED
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        message = f"a temperature is a number from 0 to 2, or `stated` (the prompt set's own), not {value!r}"
        raise ValueError(message)
    return float(value)


def _output_tokens(value: Any) -> int | Stated:
    if value == STATED:
        return STATED
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        message = f"output_tokens is a whole number from 2, or `stated` (the prompt set's own), not {value!r}"
        raise ValueError(message)
    return value


# A single value is written and hashed as one: a matrix from before there were lists keeps its hash.
_ONE_OR_MORE = (BeforeValidator(_listed), Field(min_length=1), AfterValidator(differ), PlainSerializer(_as_written))

Temperatures = Annotated[list[Annotated[float | Stated, PlainValidator(_temperature)]], *_ONE_OR_MORE]
OutputTokens = Annotated[list[Annotated[int | Stated, PlainValidator(_output_tokens)]], *_ONE_OR_MORE]
PromptTokens = Annotated[list[Positive], *_ONE_OR_MORE]
Guided = Annotated[list[bool], *_ONE_OR_MORE]


class ArrivalEntry(Entry):
    """An open loop: when requests are sent does not depend on when earlier ones end."""

    process: Literal["poisson", "fixed"]
    rate_per_s: Annotated[float, Field(gt=0, allow_inf_nan=False)]
