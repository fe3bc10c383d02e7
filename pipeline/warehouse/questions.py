"""The views beside verdicts and trend, one typed query each: what their pages and an analyst's notebook ask.

Every query returns all columns of its view; a filter that is None does not filter.
"""

from typing import TYPE_CHECKING

from sqlalchemy import Engine

from pipeline.warehouse.asking import of_view

if TYPE_CHECKING:
    import pandas as pd


def break_even(engine: Engine, *, sweep_id: str | None = None, hardware_id: str | None = None) -> "pd.DataFrame":
    """Return view break_even: up to which concurrency does speculation pay?"""
    return of_view(
        engine,
        "break_even",
        "sweep_at desc, hardware_label, target, method_name, workload",
        sweep_id=sweep_id,
        hardware_id=hardware_id,
    )


def acceptance_profile(
    engine: Engine, *, sweep_id: str | None = None, cell_id: str | None = None, hardware_id: str | None = None
) -> "pd.DataFrame":
    """Return view acceptance_profile: how far into a draft does acceptance reach? Name a sweep or a cell."""
    return of_view(
        engine,
        "acceptance_profile",
        "sweep_at desc, hardware_label, cell_id, draft_position",
        sweep_id=sweep_id,
        cell_id=cell_id,
        hardware_id=hardware_id,
    )


def vram_tax(
    engine: Engine, *, sweep_id: str | None = None, series_id: str | None = None, latest: bool | None = None
) -> "pd.DataFrame":
    """Return view vram_tax: what does speculation take of the GPU's memory, and how many users is that?"""
    return of_view(
        engine,
        "vram_tax",
        "hardware_label, target, method_name, version_sort, sweep_at",
        sweep_id=sweep_id,
        series_id=series_id,
        latest=latest,
    )


def cost(
    engine: Engine, *, sweep_id: str | None = None, series_id: str | None = None, latest: bool | None = None
) -> "pd.DataFrame":
    """Return view cost: what does a token cost, in energy and in money, with and without speculation?"""
    return of_view(
        engine,
        "cost",
        "hardware_label, target, method_name, version_sort, sweep_at",
        sweep_id=sweep_id,
        series_id=series_id,
        latest=latest,
    )


def incidents(engine: Engine, *, engine_version: str | None = None, hardware_id: str | None = None) -> "pd.DataFrame":
    """Return view incidents, latest first: what went wrong, in which release, since when?"""
    return of_view(
        engine,
        "incidents",
        "last_sweep_at desc, outcomes desc",
        engine_version=engine_version,
        hardware_id=hardware_id,
    )


def data_quality(
    engine: Engine, *, sweep_id: str | None = None, success: bool | None = None, last_load: bool | None = True
) -> "pd.DataFrame":
    """Return view data_quality, latest first (of each block's last load): what did the gate say?"""
    return of_view(
        engine,
        "data_quality",
        "loaded_at desc, success, severity, expectation",
        sweep_id=sweep_id,
        success=success,
        last_load=last_load,
    )


def confounders(engine: Engine, sweep_id: str, *, hardware_id: str | None = None) -> "pd.DataFrame":
    """Return view confounders for one sweep: what else differs between arms, and from the release before?"""
    return of_view(
        engine,
        "confounders",
        "hardware_label, target, method_name, compared_with, fact",
        sweep_id=sweep_id,
        hardware_id=hardware_id,
    )
