"""The only door to data: the warehouse's answers as cached DataFrames, or the state that explains why there is none."""

from functools import partial

import pandas as pd
import streamlit as st

from dashboard import figures
from dashboard.states import Explained, State
from pipeline.errors import SpecwatchError
from pipeline.settings import load_settings
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse

TTL_S = 60
MOST_NIGHTS = 1000
# SQLSTATE: undefined table, column, schema (not migrated); insufficient privilege.
NOT_MIGRATED = ("42P01", "42703", "3F000")
NO_PRIVILEGE = "42501"


def verdicts() -> pd.DataFrame | Explained:
    """Return the latest outcome of every cell, a row each."""
    return _rows("latest_verdicts")


def trend() -> pd.DataFrame | Explained:
    """Return every cell's outcome by vLLM version, a row each."""
    return _rows("trend_by_version")


def nights() -> pd.DataFrame | Explained:
    """Return one row a sweep and hardware: outcomes counted, and the worst A/A ratio."""
    return _rows("night_summary")


def explain(state: Explained) -> None:
    """Draw a state: what is the case, and what to run."""
    draw = st.info if state.state is State.EMPTY else st.error
    detail = f"  \n{figures.plain(state.detail)}" if state.detail else ""
    draw(f"**{state.state.sentence}** {state.state.next_step}{detail}")


def _rows(question: str) -> pd.DataFrame | Explained:
    try:
        url = load_settings().warehouse_url
        if url is None:
            return Explained(State.NOT_CONFIGURED)
        rows = _ask(question, url=url)
    except SpecwatchError as error:
        return Explained(State.UNREACHABLE, detail=str(error))
    except Exception as error:
        if state := _state_of(error):
            return Explained(state)
        raise
    return Explained(State.EMPTY) if rows.empty else rows


@st.cache_data(ttl=TTL_S, show_spinner="Asking the warehouse ...")
def _ask(question: str, *, url: str) -> pd.DataFrame:
    ask = {
        "latest_verdicts": queries.latest_verdicts,
        "trend_by_version": queries.trend_by_version,
        "night_summary": partial(queries.night_summary, limit=MOST_NIGHTS),
    }[question]
    warehouse = open_warehouse(url)
    try:
        return ask(warehouse)
    finally:
        warehouse.dispose()  # a question a minute needs no pool, and an idle session would outlive its reader


def _state_of(error: BaseException | None) -> State | None:
    """Read SQLSTATE where the driver's error is: SQLAlchemy itself stays behind the warehouse's door."""
    while error is not None:
        sqlstate = getattr(error, "sqlstate", None)
        if sqlstate in NOT_MIGRATED:
            return State.NOT_MIGRATED
        if sqlstate == NO_PRIVILEGE:
            return State.REFUSED
        error = error.__cause__
    return None
