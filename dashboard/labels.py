"""What a cell is called: only the factors that tell it from the others on the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

# Factors that are usually alike for all cells of a page; one that is not is named.
_EXTRAS: tuple[tuple[str, str], ...] = (
    ("engine_version", "vLLM {}"),
    ("prompt_tokens", "{:.0f} in"),
    ("temperature", "T={:g}"),
    ("output_tokens", "{:.0f} tokens"),
    ("prompts", "{:.0f} prompts"),
    ("guided", "guided={}"),
)


def cell_labels(rows: pd.DataFrame, *, with_method: bool = True, with_workload: bool = False) -> pd.Series:
    """Return one label a row, such as `ngram-k4 · c=1`; the same label means the same cell.

    A factor beyond method, workload and load appears only where it differs within `rows`. Where that is not
    enough (a prompt set or draft changed under its old name), the cell's id is added. Without the method a label
    names what the arms of one panel share, and the id is left out.
    """
    extras = [(name, text) for name, text in _EXTRAS if name in rows and len(rows[name].unique()) > 1]
    labels = pd.Series(
        [_label(row, extras, with_method=with_method, with_workload=with_workload) for row in rows.to_dict("records")],
        index=rows.index,
        dtype="object",
    )
    if not with_method or labels.empty:
        return labels
    ambiguous = rows["cell_id"].groupby([rows["workload"], labels]).transform("nunique") > 1
    return labels.where(~ambiguous, labels + " · " + rows["cell_id"].astype(str))


def load(row: Mapping[str, Any]) -> str:
    """Return `c=4` for a closed loop, `poisson 2/s` for an open one."""
    if row["arrival"] == "closed":
        return f"c={row['concurrency']:.0f}"
    return f"{row['arrival']} {row['request_rate']:g}/s"


def in_order_of_load(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows by workload and load, as numbers: 2 before 16; closed loops before open ones."""
    return rows.sort_values(["workload", "arrival", "concurrency", "request_rate", "panel"], kind="stable")


def with_arms(rows: pd.DataFrame) -> pd.DataFrame:
    """Add `arm`: the method's name, with the series' id where one panel has two series of that name."""
    key = [rows["panel"], rows["method_name"]]
    alike = rows["series_id"].groupby(key).transform("nunique") > 1
    return rows.assign(arm=rows["method_name"].where(~alike, rows["method_name"] + " · " + rows["series_id"]))


def _label(row: dict[str, Any], extras: Sequence[tuple[str, str]], *, with_method: bool, with_workload: bool) -> str:
    parts = [str(row["workload"])] if with_workload else []
    if with_method:
        parts.append(str(row["method_name"]))
    parts.append(load(row))
    parts.extend(text.format(row[name]) for name, text in extras if not pd.isna(row[name]))
    return " · ".join(parts)
