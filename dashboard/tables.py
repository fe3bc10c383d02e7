"""The tables under the charts: every figure behind a verdict, in the reader's words."""

import math
from typing import Any

import pandas as pd

from dashboard import figures
from dashboard.charts import palette

NO_VERDICT_COLUMNS = {"status": "What became of it", "label": "Cell", "reason": "Reason"}


def verdict_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the verdict table, best first; numbers stay numbers, so that a column can be sorted."""
    rows = rows.sort_values("estimate", ascending=False, na_position="last")
    table = pd.DataFrame(index=range(len(rows)))
    table["Verdict"] = [
        palette.verdict_phrase(verdict, harmful=bool(harmful))
        for verdict, harmful in zip(rows["verdict"], rows["harmful"], strict=True)
    ]
    table["Workload"] = rows["workload"].to_numpy()
    table["Cell"] = rows["label"].to_numpy()
    table["Speedup"] = _speedups(rows, "estimate", "lower", "upper")
    table["P(slower)"] = _column(rows, "probability_of_loss")
    table["Decode speedup"] = _speedups(rows, "decode_speedup", "decode_lower", "decode_upper")
    table["Throughput speedup"] = _speedups(rows, "throughput_speedup", "throughput_lower", "throughput_upper")
    table["Acceptance rate"] = _column(rows, "acceptance_rate")
    table["Acceptance length"] = _column(rows, "mean_acceptance_length")
    table["Tokens/step"] = _column(rows, "tokens_per_step")
    table["Prefill share"] = _column(rows, "prefill_share")
    table["Baseline"] = _values(rows, "baseline_value")
    table["Speculative"] = _values(rows, "speculative_value")
    table["Prompts"] = _column(rows, "pairs")
    table["Dropped"] = _column(rows, "dropped_prompts")
    table["Repetitions"] = _column(rows, "repetitions")
    table["Starts (arm / baseline)"] = [
        f"{figures.number(arm, digits=0)} / {figures.number(baseline, digits=0)}"
        for arm, baseline in zip(rows["arm_starts"], rows["baseline_starts"], strict=True)
    ]
    table["Blocks to decide"] = _column(rows, "blocks_to_decide")
    table["A/A"] = [
        figures.percent(value, digits=1, signed=True) for value in pd.to_numeric(rows["aa_log_ratio"]).map(_as_change)
    ]
    return table


def steps_table(steps: list[dict[str, Any]]) -> pd.DataFrame:
    """Return what changed from each version to the next, newest first; `steps` come from answers.version_steps."""
    words = {"up": "clearly up", "down": "clearly down", "within": "not clearly different"}
    return pd.DataFrame(
        {
            "vLLM": [f"{step['old_version']} to {step['new_version']}" for step in steps],
            "Cell": [step["label"] for step in steps],
            "Speedup": [words[step["change"]] for step in steps],
            "Before": [step["old_text"] for step in steps],
            "After": [step["new_text"] for step in steps],
            "Baseline tokens/s": [_change(step["baseline_change"]) for step in steps],
            "Speculative tokens/s": [_change(step["speculative_change"]) for step in steps],
            "Verdict": [_verdict_change(step) for step in steps],
        }
    )


def no_verdict_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the cells without a verdict, each with its status and reason."""
    table = rows.sort_values(["status", "workload", "label"])[list(NO_VERDICT_COLUMNS)].copy()
    table["label"] = [figures.plain(label) for label in table["label"]]
    table["reason"] = [
        figures.plain(reason) if isinstance(reason, str) and reason else "no reason was recorded"
        for reason in table["reason"]
    ]
    return table.rename(columns=NO_VERDICT_COLUMNS).set_index("What became of it")


def _speedups(rows: pd.DataFrame, estimate: str, lower: str, upper: str) -> list[str]:
    return [figures.speedup(*values) for values in rows[[estimate, lower, upper]].itertuples(index=False, name=None)]


def _values(rows: pd.DataFrame, name: str) -> list[str]:
    return [
        f"{figures.number(value)} {unit}" if figures.measured(value) else figures.MISSING
        for value, unit in zip(rows[name], rows["unit"], strict=True)
    ]


def _change(value: float | None) -> str:
    return figures.percent(value, digits=1, signed=True)


def _verdict_change(step: dict[str, Any]) -> str:
    old, new = (palette.VERDICT_WORDS.get(step[name], "none") for name in ("old_verdict", "new_verdict"))
    return f"still {new}" if old == new else f"{old} to {new}"


def _column(rows: pd.DataFrame, name: str) -> "pd.Series[float]":
    return pd.to_numeric(rows[name]).astype("Float64").reset_index(drop=True)


def _as_change(log_ratio: float) -> float | None:
    return math.exp(log_ratio) - 1 if math.isfinite(log_ratio) else None
