"""The answer in one sentence, computed from the rows that the page shows."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from dashboard import figures, labels

NO_VERDICT = ("failed", "skipped", "quarantined")


def verdict_answer(rows: pd.DataFrame, *, hardware: str, engine_version: str) -> str:
    """Say in how many cells speculation is worth it, and name the best; `rows` are speculative cells with labels."""
    place = f"On {hardware}, vLLM {engine_version}"
    decided = rows[rows["verdict"].notna()]
    if decided.empty:
        lost = _lost(rows)
        return f"{place}: no verdict, because {lost or 'no speculative cell was measured'}."
    counts = decided["verdict"].value_counts()
    harmful = int((decided["harmful"] == True).sum())  # noqa: E712 (the column can hold None)
    parts = [
        f"worth it in {counts.get('worth_it', 0)} of {_cells(len(rows))}",
        f"not in {counts.get('not_worth_it', 0)}" + (f" ({harmful} harmful)" if harmful else ""),
        f"undecided in {counts.get('undecided', 0)}",
    ]
    if lost := _lost(rows):
        parts.append(lost)
    return f"{place}: {', '.join(parts)}; {_best(decided)}."


def _best(decided: pd.DataFrame) -> str:
    worth = decided[decided["verdict"] == "worth_it"]
    pool = worth if not worth.empty else decided
    row = pool.loc[pool["estimate"].idxmax()]
    word = "best" if not worth.empty else "highest"
    load = f"concurrency {row['concurrency']:.0f}" if row["arrival"] == "closed" else labels.load(row)
    where = f"{row['method_name']} on {row['workload']} at {load}"
    return f"{word}: {where}, {figures.speedup(row['estimate'], row['lower'], row['upper'])}"


def _lost(rows: pd.DataFrame) -> str:
    missing = rows[rows["verdict"].isna()]
    parts = [f"{count} {status}" for status in NO_VERDICT if (count := int((missing["status"] == status).sum()))]
    rest = int((~missing["status"].isin(NO_VERDICT)).sum())
    if rest:
        parts.append(f"{rest} not compared with a baseline")
    return ", ".join(parts)


def _cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"


def trend_answer(rows: pd.DataFrame, *, hardware: str, versions: list[str]) -> str:
    """Say what became of the speedups from the last version but one to the last; `rows` are of one metric."""
    if not versions:
        return f"On {hardware}, no cell that is asked for here was measured with any vLLM version."
    if len(versions) == 1:
        return (
            f"On {hardware} only vLLM {versions[0]} was measured: a trend needs two versions. "
            "Below is the one there is."
        )
    old, new = versions[-2:]
    steps = version_steps(rows, versions=[old, new])
    if not steps:
        return f"On {hardware}, no cell was measured with both vLLM {old} and {new}: nothing can be compared."
    words = [step["change"] for step in steps]
    verdicts = sum(step["old_verdict"] != step["new_verdict"] for step in steps)
    largest = max(steps, key=lambda step: abs(step["log_change"]))
    change = (
        f"clearly up in {words.count('up')} of {_cells(len(steps))}, clearly down in {words.count('down')}, "
        f"not clearly different in {words.count('within')}"
    )
    moved = f"{largest['label']}, {figures.ratio(largest['old'])} to {figures.ratio(largest['new'])}"
    arms = (
        f"baseline {figures.percent(largest['baseline_change'], digits=1, signed=True)}, "
        f"speculative {figures.percent(largest['speculative_change'], digits=1, signed=True)} tokens/s"
    )
    return (
        f"On {hardware}, from vLLM {old} to {new} the speedup is {change}; the verdict differs in {verdicts}; "
        f"largest move: {moved} ({arms})."
    )


def version_steps(rows: pd.DataFrame, *, versions: list[str]) -> list[dict[str, Any]]:
    """Compare each cell's neighbouring versions, newest first.

    `up` and `down` need intervals that do not touch, which is stricter than a test at 5%; all else is `within`.
    """
    steps = []
    for old_version, new_version in reversed(list(pairwise(versions))):
        old_rows = _by_series(rows, version=old_version)
        new_rows = _by_series(rows, version=new_version)
        for series in [name for name in new_rows if name in old_rows]:
            old, new = old_rows[series], new_rows[series]
            if not (figures.measured(old["estimate"]) and figures.measured(new["estimate"])):
                continue
            steps.append(
                {
                    "label": new["label"],
                    "old_version": old_version,
                    "new_version": new_version,
                    "old": old["estimate"],
                    "new": new["estimate"],
                    "old_text": figures.speedup(old["estimate"], old["lower"], old["upper"]),
                    "new_text": figures.speedup(new["estimate"], new["lower"], new["upper"]),
                    "log_change": math.log(new["estimate"] / old["estimate"]),
                    "change": _direction(old, new),
                    "baseline_change": _relative(old, new, "baseline_output_tokens_per_s"),
                    "speculative_change": _relative(old, new, "speculative_output_tokens_per_s"),
                    "old_verdict": old["verdict"],
                    "new_verdict": new["verdict"],
                }
            )
    return steps


def _by_series(rows: pd.DataFrame, *, version: str) -> dict[str, dict[str, Any]]:
    return {row["series_id"]: row for row in rows[rows["engine_version"] == version].to_dict("records")}


def _direction(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if new["lower"] > old["upper"]:
        return "up"
    return "down" if new["upper"] < old["lower"] else "within"


def _relative(old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> float | None:
    before, after = old.get(name), new.get(name)
    if not (figures.measured(before) and figures.measured(after)) or not before:
        return None
    return float(after / before - 1)
