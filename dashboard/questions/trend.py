"""How does it change across vLLM versions? Speedups over releases, and beneath each what both arms did."""

from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import answers, confounders, data, figures, labels, notes, scope, tables
from dashboard.charts import palette, trend
from dashboard.charts.axes import speedup_domain
from dashboard.charts.palette import ArmStyle
from dashboard.controls import Chosen, choose, filtered
from dashboard.frame import caption, open_page
from dashboard.states import Explained


def show() -> None:
    """Draw the page."""
    head = open_page("How does it change across vLLM versions?")
    scopes = data.scopes()
    if isinstance(scopes, Explained):
        data.explain(scopes)
        return
    chosen = choose(scopes, one_version=False)
    rows = data.trend(chosen.scope)
    if isinstance(rows, Explained):
        data.explain(rows)
        return
    left = filtered(rows)
    cells = _named(_judged_by(left.rows, metric="latency"))
    versions = scope.versions(cells)
    measured = cells[cells["estimate"].notna()]
    with head:
        _answer(cells, measured, chosen, versions=scope.versions(measured))
    if not measured.empty:
        _panels(cells, measured, versions=versions)
        _captions(measured, chosen, left.filters)
        _steps(measured, versions=versions)
        _confounders(measured, versions=versions)
    _holes(cells[cells["estimate"].isna()])


def _judged_by(rows: pd.DataFrame, *, metric: str) -> pd.DataFrame:
    """Name the speedup that the page draws as the verdict page names it."""
    return rows.assign(
        metric=f"{metric}_speedup",
        estimate=rows[f"{metric}_speedup"],
        lower=rows[f"{metric}_lower"],
        upper=rows[f"{metric}_upper"],
    )


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Add what panels and sentences call a cell; the version is the axis, so it names nothing."""
    unversioned = rows.drop(columns="engine_version").assign(cell_id=rows["series_id"])
    workload = rows["workload"].astype(str)
    return rows.assign(
        label=workload + " · " + labels.cell_labels(unversioned),
        panel=workload + " · " + labels.cell_labels(unversioned, with_method=False),
    ).pipe(labels.with_arms)


def _answer(cells: pd.DataFrame, measured: pd.DataFrame, chosen: Chosen, *, versions: list[str]) -> None:
    sentence = answers.trend_answer(measured, hardware=chosen.hardware, versions=versions)
    st.subheader(figures.plain(sentence), anchor=False)
    for warning in notes.loud(cells):
        st.warning(warning)


def _panels(cells: pd.DataFrame, measured: pd.DataFrame, *, versions: list[str]) -> None:
    metric = st.segmented_control(
        "Both arms as",
        list(trend.ABSOLUTES),
        format_func=trend.ABSOLUTES.__getitem__,
        default="output_tokens_per_s",
        required=True,
        key="arms",
        bind="query-params",
    )
    styles = palette.arm_styles(cells["arm"])
    domain = speedup_domain(measured)
    panels = labels.in_order_of_load(measured)["panel"].unique().tolist()
    for start in range(0, len(panels), 2):
        for column, panel in zip(st.columns(2), panels[start : start + 2], strict=False):
            here = measured[measured["panel"] == panel]
            with column.container(border=True):
                st.markdown(f"**{figures.plain(panel)}**")
                st.html(_arm_key(here, styles=styles))
                st.altair_chart(trend.speedup_chart(here, versions=versions, styles=styles, domain=domain))
                st.altair_chart(
                    trend.arms_chart(here, metric=metric or "output_tokens_per_s", versions=versions, styles=styles)
                )
                st.altair_chart(trend.acceptance_chart(here, versions=versions, styles=styles))


def _captions(measured: pd.DataFrame, chosen: Chosen, filters: dict[str, list[Any]]) -> None:
    caption(
        f"Speedups: {palette.verdict_key()}, in the colour of the arm; within a version in the order of the "
        "key. Versions are in release order; a version without a figure is a hole.",
        notes.method_of_interval(measured),
        notes.evidence(measured),
        notes.noise_floor(measured),
        notes.greedy(measured),
        f"Hardware: {chosen.hardware}. {notes.filters(filters)}",
        notes.source(measured),
    )


def _arm_key(panel: pd.DataFrame, *, styles: dict[str, ArmStyle]) -> str:
    """Name the arms of a panel in their colours, shapes and order."""
    arms = [arm for arm in styles if arm == palette.BASELINE_ARM or arm in set(panel["arm"])]
    return " &nbsp; ".join(
        f'<span style="color:{styles[arm].colour};white-space:nowrap">{styles[arm].glyph} {escape(arm)}</span>'
        for arm in arms
    )


def _steps(measured: pd.DataFrame, *, versions: list[str]) -> None:
    steps = answers.version_steps(measured, versions=versions)
    if not steps:
        return
    st.subheader("From version to version", anchor=False)
    st.dataframe(tables.steps_table(steps), hide_index=True)
    caption(
        "Clearly up or down: the two 95% intervals do not touch. Anything else may be noise, also between sweeps.",
        "When the speedup rises because the baseline fell, the arms' columns show it.",
    )


def _confounders(measured: pd.DataFrame, *, versions: list[str]) -> None:
    between = confounders.between_versions(measured, versions=versions)
    arms = confounders.between_arms(measured, versions=versions)
    st.subheader("What else differed", anchor=False)
    if not between and not arms:
        st.markdown("Model runner, async scheduling and attention backend are alike wherever the logs name them.")
        return
    st.markdown("\n".join(f"- {figures.plain(sentence)}" for sentence in [*between, *arms]))


def _holes(rows: pd.DataFrame) -> None:
    if rows.empty:
        return
    st.subheader(f"Without a figure: {len(rows)}", anchor=False)
    named = rows.assign(label="vLLM " + rows["engine_version"] + " · " + rows["label"])
    st.table(tables.no_verdict_table(named))


show()
