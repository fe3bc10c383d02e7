"""What the gate said of one load."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["critical", "warning"]


@dataclass(frozen=True, slots=True)
class ValidationOutcome:
    """One expectation evaluated on one load. A critical failure without cells is one of the whole load."""

    expectation: str  # such as `requests_as_planned`
    subject: str  # table.column
    severity: Severity
    success: bool
    observed: Mapping[str, Any]  # JSON-able: counts and examples
    cell_ids: tuple[str, ...] = ()  # cells whose rows failed
    details: str | None = None  # what it means, for a person
