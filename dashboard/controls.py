"""The controls of a page. Each is a query parameter, so that an address is a view."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import scope

FILTERS = (("workload", "Workload"), ("method_name", "Method"), ("concurrency", "Concurrency"))
FILTER_WIDTH = 190  # pixels


@dataclass(frozen=True, slots=True)
class Scoped:
    """The rows that may stand together, and what was chosen to get there."""

    rows: pd.DataFrame
    hardware: str  # label, as offered
    engine_version: str | None  # None on pages that show all versions
    filters: dict[str, list[Any]]


def choose(rows: pd.DataFrame, *, one_version: bool) -> Scoped:
    """Draw the controls and return the rows of one hardware, target, kind of weights and of acceptance.

    A control with one option is drawn only when it names what the reader must know: hardware, target, version.
    """
    hardware = scope.hardware_choice(rows)
    version = None
    with st.container(horizontal=True, key="scope"):
        label = _select("Hardware", hardware, key="hardware")
        rows = hardware.narrow(rows, label)
        target = scope.value_choice(rows, "target")
        rows = target.narrow(rows, _select("Target model", target, key="target"))
        if one_version:
            versions = scope.version_choice(rows)
            version = _select("vLLM version", versions, key="version")
            rows = versions.narrow(rows, version)
        weights = scope.weights_choice(rows)
        rows = weights.narrow(rows, _select_if_many("Weights", weights, key="weights"))
        acceptance = scope.value_choice(rows, "acceptance")
        rows = acceptance.narrow(rows, _select_if_many("Acceptance", acceptance, key="acceptance"))
    with st.container(horizontal=True, key="filters"):
        filters = _filters(rows)
    for column, name in FILTERS:
        if filters.get(name.lower()):
            rows = rows[rows[column].isin(filters[name.lower()])]
    return Scoped(rows, label, version, filters)


def _filters(rows: pd.DataFrame) -> dict[str, list[Any]]:
    """Draw the filters that have something to choose; each offers every value, whatever the others say."""
    chosen: dict[str, list[Any]] = {}
    for column, name in FILTERS:
        # beside an open loop, which has none, a concurrency is read as a float
        found = rows[column].dropna().unique().tolist()
        options = sorted(int(value) if isinstance(value, float) else value for value in found)
        if len(options) > 1:
            chosen[name.lower()] = st.multiselect(
                name, options, key=column, bind="query-params", placeholder=f"All {len(options)}", width=FILTER_WIDTH
            )
    return chosen


def _select(name: str, choice: scope.Choice, *, key: str) -> str:
    width = min(max(9 * max(map(len, choice.labels)) + 60, 150), 460)
    return str(st.selectbox(name, choice.labels, key=key, bind="query-params", width=width))


def _select_if_many(name: str, choice: scope.Choice, *, key: str) -> str:
    return _select(name, choice, key=key) if len(choice.options) > 1 else choice.labels[0]
