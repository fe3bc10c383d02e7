"""What a reader must know before believing a chart: n, the noise floor, priors, and what the evidence is not."""

import math
from typing import Any

import pandas as pd

from dashboard import figures

METRICS = {
    "latency_speedup": "end-to-end time per output token, baseline / speculative",
    "decode_speedup": "time per output token after the first (TPOT), baseline / speculative",
    "throughput_speedup": "output tokens/s at the same concurrency, speculative / baseline",
}
CPU_WARNING = "**CPU measurement: says nothing about a GPU.**"


def loud(rows: pd.DataFrame) -> list[str]:
    """Return what must be said above the charts: a CPU, dummy weights, synthetic acceptance."""
    warnings = []
    if (rows["hardware_kind"] == "cpu").any():
        warnings.append(CPU_WARNING)
    if (rows["weights"] == "dummy").any():
        warnings.append("**Dummy weights:** speed of the real shape; acceptance and texts mean nothing.")
    if (rows["acceptance"] == "synthetic").any():
        warnings.append("**Synthetic acceptance:** set by hand, not earned by a draft; never compared with real.")
    return warnings


def evidence(rows: pd.DataFrame) -> str:
    """Name n: prompts, repetitions and server starts behind the intervals of `rows`."""
    dropped = int(rows["dropped_prompts"].fillna(0).sum()) if "dropped_prompts" in rows else 0
    lost = f" ({dropped} dropped: failed in an arm)" if dropped else ""
    return (
        f"n in each cell: prompts in both arms: {figures.span(rows['pairs'])}{lost}; "
        f"repetitions: {figures.span(rows['repetitions'])}; "
        f"server starts: {figures.span(rows['arm_starts'])} speculative, "
        f"{figures.span(rows['baseline_starts'])} baseline."
    )


def method_of_interval(rows: pd.DataFrame) -> str:
    """Say what the speedup is a ratio of, and how the interval and the verdict are made."""
    names = sorted(rows["metric"].dropna().unique())
    ratio = "; ".join(f"{name.replace('_', ' ')}: {METRICS.get(name, '')}" for name in names)
    margin = figures.span(rows["margin"], digits=2)
    return (
        f"Above 1 is faster ({ratio}). Bars are 95% intervals, between prompts and between server starts. "
        f"Worth it: the whole interval lies above the margin of {margin}; not worth it: below; else undecided."
    )


def noise_floor(rows: pd.DataFrame) -> str:
    """Name the A/A ratios (column aa_log_ratio) of the nights behind `rows`."""
    ratios = [math.exp(value) - 1 for value in rows["aa_log_ratio"].dropna()]
    if not ratios:
        return "Noise floor: not measured, because one of the two baselines of the night is missing."
    low, high = min(ratios), max(ratios)
    text = figures.percent(low, digits=1, signed=True)
    if high != low:
        text += f" to {figures.percent(high, digits=1, signed=True)}"
    return f"Noise floor of a night (A/A: closing against opening baseline): {text}."


def start_spread(rows: pd.DataFrame) -> str | None:
    """Say so when the variance between server starts is a prior."""
    if not (rows["start_variance_source"] == "prior").any():
        return None
    return (
        "The spread between server starts is an assumed prior, not yet measured: "
        "this hardware, engine and target have too few A/A pairs."
    )


def greedy(rows: pd.DataFrame) -> str | None:
    """Say so when a creative workload ran at temperature 0."""
    ran = rows[(rows["category"] == "creative") & (rows["temperature"] == 0)]
    if ran.empty:
        return None
    names = ", ".join(sorted(ran["workload"].unique()))
    return f"{names} ran greedy (temperature 0)."


def source(rows: pd.DataFrame) -> str:
    """Name the runs the rows come from."""
    runs = rows[["sweep_id", "sweep_at", "matrix_name", "trigger"]].drop_duplicates("sweep_id")
    runs = runs.sort_values("sweep_at", ascending=False)
    texts = [_run(row) for row in runs.to_dict("records")]
    more = f" and {len(texts) - 5} older" if len(texts) > 5 else ""
    return f"Source: {'; '.join(texts[:5])}{more}."


def _run(row: dict[str, Any]) -> str:
    return f"sweep {row['sweep_id']} of {figures.moment(row['sweep_at'])} ({row['matrix_name']}, {row['trigger']})"


def filters(chosen: dict[str, list[Any]]) -> str:
    """Name the filters that hide rows, or say that none does."""
    texts = [f"{name} {', '.join(map(str, values))}" for name, values in chosen.items() if values]
    return f"Filters: {'; '.join(texts)}." if texts else "Filters: none."
