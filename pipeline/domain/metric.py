"""What a metric is: a name, a unit, a formula, and when there is none."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a measurement."""

    name: str
    unit: str
    formula: str
    undefined: str  # when it is None
    kind: Literal["count", "real"] = "real"


FEWEST_FOR_P90 = 100  # requests: below it a tenth of them is fewer than ten
FEWEST_FOR_P99 = 1000
