"""The controls of a page. Each is a query parameter, so that an address is a view."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import scope
from dashboard.scope import Scope

FILTERS = (("workload", "Workload"), ("method_name", "Method"), ("concurrency", "Concurrency"))
FILTER_WIDTH = 190  # pixels


@dataclass(frozen=True, slots=True)
class Chosen:
    """The scope that was chosen, as the warehouse and as a person names it."""

    scope: Scope
    hardware: str  # label, as offered


@dataclass(frozen=True, slots=True)
class Filtered:
    """The rows that are left, and the filters that left them."""

    rows: pd.DataFrame
    filters: dict[str, list[Any]]


def choose(scopes: pd.DataFrame, *, one_version: bool) -> Chosen:
    """Draw the controls of what may stand together: one hardware, target, kind of weights and of acceptance.

    A control with one option is drawn only when it names what the reader must know: hardware, target, version.
    """
    hardware = scope.hardware_choice(scopes)
    version = None
    with st.container(horizontal=True, key="scope"):
        label = _select("Hardware", hardware, key="hardware")
        rows = hardware.narrow(scopes, label)
        target = scope.value_choice(rows, "target")
        target_label = _select("Target model", target, key="target")
        rows = target.narrow(rows, target_label)
        if one_version:
            versions = scope.version_choice(rows)
            version = versions.value(_select("vLLM version", versions, key="version"))
            rows = versions.narrow(rows, version)
        weights = scope.weights_choice(rows)
        weights_label = _select_if_many("Weights", weights, key="weights")
        rows = weights.narrow(rows, weights_label)
        acceptance = scope.value_choice(rows, "acceptance")
        acceptance_label = _select_if_many("Acceptance", acceptance, key="acceptance")
    return Chosen(
        Scope(
            hardware_id=hardware.value(label),
            target=target.value(target_label),
            weights=weights.value(weights_label),
            acceptance=acceptance.value(acceptance_label),
            engine_version=version,
        ),
        hardware=label,
    )


def filtered(rows: pd.DataFrame) -> Filtered:
    """Draw the filters, and return the rows that they leave."""
    with st.container(horizontal=True, key="filters"):
        filters = _filters(rows)
    for column, name in FILTERS:
        if filters.get(name.lower()):
            rows = rows[rows[column].isin(filters[name.lower()])]
    return Filtered(rows, filters)


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
