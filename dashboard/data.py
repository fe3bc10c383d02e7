"""The only door to data: the warehouse's answers as cached DataFrames, or the state that explains why there is none."""

from dataclasses import asdict

import pandas as pd
import streamlit as st

from dashboard import figures
from dashboard.scope import Scope
from dashboard.states import Explained, State
from pipeline.errors import SpecwatchError
from pipeline.settings import load_settings
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse

TTL_S = 60
MOST_ANSWERS = 64  # kept at once; the largest, a trend over three years, is a megabyte
# SQLSTATE: undefined table, column, schema (not migrated); insufficient privilege.
NOT_MIGRATED = ("42P01", "42703", "3F000")
NO_PRIVILEGE = "42501"


def scopes() -> pd.DataFrame | Explained:
    """Return what can be asked for, a row each: hardware, target, release, weights and acceptance."""
    return _rows("scopes")


def verdicts(scope: Scope) -> pd.DataFrame | Explained:
    """Return the latest outcome of every cell in the scope, a row each."""
    return _rows("latest_verdicts", **asdict(scope))


def trend(scope: Scope) -> pd.DataFrame | Explained:
    """Return what stands for each release, a row a series and release of the scope."""
    filters = {name: value for name, value in asdict(scope).items() if name != "engine_version"}
    return _rows("trend_by_version", stands_for_release=True, **filters)


def explain(state: Explained) -> None:
    """Draw a state: what is the case, and what to run."""
    draw = st.info if state.state is State.EMPTY else st.error
    detail = f"  \n{figures.plain(state.detail)}" if state.detail else ""
    draw(f"**{state.state.sentence}** {state.state.next_step}{detail}")


def _rows(question: str, **filters: str | bool | None) -> pd.DataFrame | Explained:
    try:
        url = load_settings().warehouse_reader_url
        if url is None:
            return Explained(State.NOT_CONFIGURED)
        rows = _ask(question, filters, url=url)
    except SpecwatchError as error:
        return Explained(State.UNREACHABLE, detail=str(error))
    except Exception as error:
        if state := _state_of(error):
            return Explained(state)
        raise
    return Explained(State.EMPTY) if rows.empty else rows


@st.cache_data(ttl=TTL_S, max_entries=MOST_ANSWERS, show_spinner="Asking the warehouse ...")
def _ask(question: str, filters: dict[str, str | bool | None], *, url: str) -> pd.DataFrame:
    ask = getattr(queries, question)
    warehouse = open_warehouse(url)
    try:
        rows: pd.DataFrame = ask(warehouse, **filters)
        return rows
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
