"""Is it worth it? One hardware, one vLLM release: the verdict of every cell, and why."""

from typing import Any

import pandas as pd
import streamlit as st

from dashboard import answers, data, figures, labels, notes, tables
from dashboard.charts import palette
from dashboard.charts.axes import speedup_domain
from dashboard.charts.intervals import interval_chart
from dashboard.controls import Chosen, choose, filtered
from dashboard.frame import caption, open_page
from dashboard.states import Explained


def show() -> None:
    """Draw the page."""
    head = open_page("Is it worth it?")
    scopes = data.scopes()
    if isinstance(scopes, Explained):
        data.explain(scopes)
        return
    chosen = choose(scopes, one_version=True)
    rows = data.verdicts(chosen.scope)
    if isinstance(rows, Explained):
        data.explain(rows)
        return
    left = filtered(rows)
    cells = left.rows.assign(label=labels.cell_labels(left.rows))
    with head:
        _answer(cells, chosen)
    judged = cells[cells["verdict"].notna()]
    if not judged.empty:
        _charts(judged, chosen, left.filters)
        _table(judged)
        _reasons(judged)
    _without_verdict(cells[cells["verdict"].isna()])


def _answer(cells: pd.DataFrame, chosen: Chosen) -> None:
    version = str(chosen.scope.engine_version)
    sentence = answers.verdict_answer(cells, hardware=chosen.hardware, engine_version=version)
    st.subheader(figures.plain(sentence), anchor=False)
    for warning in notes.loud(cells):
        st.warning(warning)


def _charts(judged: pd.DataFrame, chosen: Chosen, filters: dict[str, list[Any]]) -> None:
    domain = speedup_domain(judged)
    workloads = judged.groupby("workload")["estimate"].max().sort_values(ascending=False).index.tolist()
    for start in range(0, len(workloads), 2):
        for column, workload in zip(st.columns(2), workloads[start : start + 2], strict=False):
            here = judged[judged["workload"] == workload]
            alt = "; ".join(
                f"{row.label} {figures.speedup(row.estimate, row.lower, row.upper)} {row.verdict}"
                for row in here.itertuples()
            )
            column.altair_chart(interval_chart(here, domain=domain, title=workload), width="stretch", alt=alt)
    caption(
        palette.verdict_key() + ". " + notes.method_of_interval(judged),
        notes.evidence(judged),
        notes.noise_floor(judged),
        notes.start_spread(judged),
        notes.greedy(judged),
        f"Hardware: {chosen.hardware}. {notes.filters(filters)}",
        notes.source(judged),
    )


def _table(judged: pd.DataFrame) -> None:
    st.subheader("Every figure", anchor=False)
    ratio = st.column_config.NumberColumn(format="%.2f")
    share = st.column_config.NumberColumn(format="percent")
    table = tables.verdict_table(judged)
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        column_config={
            "P(slower)": share,
            "Acceptance rate": share,
            "Prefill share": share,
            "Acceptance length": ratio,
            "Tokens/step": ratio,
            "Blocks to decide": st.column_config.NumberColumn(
                help="Estimated further blocks until the interval leaves the margin; empty once decided."
            ),
            "A/A": st.column_config.TextColumn(help="Closing against opening baseline of the same night."),
        },
    )


def _reasons(judged: pd.DataFrame) -> None:
    st.subheader("Why?", anchor=False)
    names = judged["workload"] + " · " + judged["label"]
    order = judged["estimate"].sort_values(ascending=False).index
    options = names.loc[order].tolist()
    chosen = st.selectbox("Cell", options, key="cell", bind="query-params", width=460)
    row = judged.loc[names[names == chosen].index[0]] if chosen in options else judged.loc[order[0]]
    verdict = palette.verdict_phrase(row["verdict"], harmful=bool(row["harmful"]))
    st.markdown(f"**{verdict}**, {figures.plain(figures.speedup(row['estimate'], row['lower'], row['upper']))}")
    reasons = row["reasons"] if isinstance(row["reasons"], list) else []
    st.markdown("\n".join(f"- {figures.plain(reason)}" for reason in reasons) or "No reason was recorded.")


def _without_verdict(rows: pd.DataFrame) -> None:
    if rows.empty:
        return
    st.subheader(f"Without a verdict: {len(rows)}", anchor=False)
    named = rows.assign(label=rows["workload"] + " · " + rows["label"])
    st.table(tables.no_verdict_table(named))


show()
