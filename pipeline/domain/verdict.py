"""Speedups with intervals, and the verdict drawn from them. Greater than 1 is always better."""

from dataclasses import dataclass
from typing import Literal

SpeedupMetric = Literal["latency_speedup", "decode_speedup", "throughput_speedup"]
VerdictWord = Literal["worth_it", "not_worth_it", "undecided"]
DEFAULT_MARGIN = 1.05


@dataclass(frozen=True, slots=True)
class Speedup:
    """One speedup of a speculative cell over its paired baseline in one sweep.

    Ratios are baseline / speculative for times and speculative / baseline for rates. The interval is 95%, t-based on
    the log scale; its variance is between prompts plus, in quadrature, between server starts.
    """

    sweep_id: str
    cell_id: str
    hardware_id: str  # both arms ran on it
    metric: SpeedupMetric
    estimate: float
    lower: float
    upper: float
    probability_of_loss: float  # P(speedup < 1)
    degrees_of_freedom: float
    pairs: int  # prompts measured in both arms
    dropped_prompts: int  # failed in either arm
    arm_starts: int
    baseline_starts: int
    prompt_variance: float  # of the estimate, log scale
    start_variance: float  # of the estimate, log scale
    start_variance_source: Literal["prior", "history"]
    baseline_value: float  # in `unit`
    speculative_value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one speculative cell in one sweep."""

    sweep_id: str
    cell_id: str
    hardware_id: str  # both arms ran on it
    metric: SpeedupMetric
    margin: float
    verdict: VerdictWord
    harmful: bool  # upper bound < 1
    estimate: float
    lower: float
    upper: float
    probability_of_loss: float
    blocks_to_decide: int | None  # estimated; None once decided, or when the estimate lies on the margin
    aa_log_ratio: float | None  # closing / opening baseline of this night; None when one is missing
    reasons: tuple[str, ...]
