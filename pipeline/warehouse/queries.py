"""What the dashboard, the command line and the analysis ask. One function a question; parameters are bound.

A question that a view answers returns every column of that view: the view is the contract, and nothing here joins it.
"""
# ruff: noqa: S608 - the only name put into a statement is the list of our own measurement columns

from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from pipeline.warehouse.asking import ask, of_view, records
from pipeline.warehouse.tables import Measurement

if TYPE_CHECKING:
    import pandas as pd

_MEASUREMENT = ", ".join(f"m.{c.name}" for c in Measurement.table().columns if c.name != "started_at")


def scopes(engine: Engine) -> "pd.DataFrame":
    """Return view scopes, the machine that measured last first: what the other questions can be asked about."""
    return of_view(engine, "scopes", "last_sweep_at desc, hardware_label, target, version_sort desc")


def latest_verdicts(
    engine: Engine,
    *,
    hardware_id: str | None = None,
    target: str | None = None,
    engine_version: str | None = None,
    weights: str | None = None,
    acceptance: str | None = None,
    newest_engine: bool | None = None,
) -> "pd.DataFrame":
    """Return view latest_verdicts: is it worth it, as far as is known today?

    Of one scope, of one release, or of each series' newest release: after years, all of them are thousands of rows.
    """
    return of_view(
        engine,
        "latest_verdicts",
        "hardware_kind desc, hardware_label, target, version_sort desc, method_name, workload, concurrency",
        hardware_id=hardware_id,
        target=target,
        engine_version=engine_version,
        weights=weights,
        acceptance=acceptance,
        newest_engine=newest_engine,
    )


def undecided_cells(engine: Engine) -> frozenset[str]:
    """Return the cells whose latest verdict is undecided."""
    rows = records(engine, "select v.cell_id from warehouse.latest_verdicts as v where v.verdict = 'undecided'")
    return frozenset(str(row["cell_id"]) for row in rows)


def sweep_verdicts(engine: Engine, sweep_id: str) -> "pd.DataFrame":
    """Return view verdicts for one sweep."""
    return of_view(
        engine,
        "verdicts",
        "hardware_label, target, version_sort desc, method_name, workload, prompt_tokens, concurrency, request_rate",
        sweep_id=sweep_id,
    )


def trend_by_version(
    engine: Engine,
    *,
    hardware_id: str | None = None,
    target: str | None = None,
    weights: str | None = None,
    acceptance: str | None = None,
    series_id: str | None = None,
    stands_for_release: bool | None = None,
) -> "pd.DataFrame":
    """Return view trend_by_version, oldest release first: of one scope, of one series.

    `stands_for_release`: of each release only the sweep that stands for it; after years, a line of it has a thousand.
    """
    return of_view(
        engine,
        "trend_by_version",
        "hardware_id, series_id, version_sort, sweep_at",
        hardware_id=hardware_id,
        target=target,
        weights=weights,
        acceptance=acceptance,
        series_id=series_id,
        stands_for_release=stands_for_release,
    )


def night_summary(engine: Engine, *, limit: int = 30) -> "pd.DataFrame":
    """Return view night_summary, newest sweep first."""
    return ask(
        engine,
        "select n.* from warehouse.night_summary as n order by n.sweep_at desc, n.sweep_id desc limit :limit",
        {"limit": limit},
    )


def noise_floor(engine: Engine, *, sweep_id: str | None = None, hardware_id: str | None = None) -> "pd.DataFrame":
    """Return view noise_floor, oldest sweep first (of one sweep, of one hardware)."""
    return of_view(engine, "noise_floor", "sweep_at, block_id, cell_id", sweep_id=sweep_id, hardware_id=hardware_id)


def hardware_measured(engine: Engine) -> list[dict[str, Any]]:
    """Return hardware_id, kind, label and last_sweep_at of every machine that a sweep ran on, latest first."""
    return records(
        engine,
        "select n.hardware_id, n.hardware_kind as kind, n.hardware_label as label, max(n.sweep_at) as last_sweep_at "
        "from warehouse.night_summary as n "
        "group by n.hardware_id, n.hardware_kind, n.hardware_label order by last_sweep_at desc, n.hardware_label",
    )


def cell_status(engine: Engine, sweep_id: str) -> list[dict[str, Any]]:
    """Return view cell_status for one sweep: what became of every planned cell, baselines too."""
    return records(
        engine,
        "select c.* from warehouse.cell_status as c where c.sweep_id = :sweep_id "
        "order by c.engine_version, c.method_name, c.workload, c.prompt_tokens, c.concurrency, c.request_rate",
        {"sweep_id": sweep_id},
    )


def failed_validations(engine: Engine, load_id: str) -> list[dict[str, Any]]:
    """Return the expectations that did not hold for a load, critical ones first."""
    return records(
        engine,
        "select v.expectation, v.subject, v.severity, v.observed, v.details, v.cell_ids "
        "from warehouse.validation_result as v where v.load_id = :load_id and not v.success "
        "order by v.severity, v.expectation",
        {"load_id": load_id},
    )


def paired_requests(engine: Engine, sweep_id: str) -> list[dict[str, Any]]:
    """Return every measured request of a sweep, with what pairs it.

    cell_id, baseline_cell_id, is_baseline, hardware_id, block_id, start_index, attempt, position, started_at (epoch s,
    start of the window), repetition, prompt_id, e2e_latency_ms, tpot_ms, output_tokens, error.
    """
    day = records(engine, "select s.sweep_date from warehouse.sweep as s where s.sweep_id = :id", {"id": sweep_id})
    if not day:
        return []
    return records(  # the date as a value, so that the plan holds one partition
        engine,
        "select r.cell_id, c.baseline_cell_id, c.cell_id = c.baseline_cell_id as is_baseline, m.hardware_id, "
        "r.block_id, r.start_index, r.attempt, m.position, "
        "extract(epoch from m.started_at)::double precision as started_at, "
        "r.repetition, r.prompt_id, r.e2e_latency_ms, r.tpot_ms, r.output_tokens, r.error "
        "from warehouse.request as r "
        "inner join warehouse.measurement as m "
        "using (sweep_id, block_id, start_index, attempt, cell_id, repetition) "
        "inner join warehouse.cell as c on r.cell_id = c.cell_id "
        "where r.sweep_id = :sweep_id and r.sweep_date = :sweep_date "
        "order by r.block_id, r.start_index, r.attempt, r.cell_id, r.repetition, r.request_index",
        {"sweep_id": sweep_id, "sweep_date": day[0]["sweep_date"]},
    )


def cell_measurements(engine: Engine, sweep_id: str) -> list[dict[str, Any]]:
    """Return every measurement of a sweep with its cell, method and what its server start logged.

    All columns of measurement (started_at as epoch s), then those of cell, method and server_start named in the text.
    """
    return records(
        engine,
        f"select {_MEASUREMENT}, extract(epoch from m.started_at)::double precision as started_at, "
        "c.series_id, c.baseline_cell_id, c.cell_id = c.baseline_cell_id as is_baseline, c.engine_id, c.target_name, "
        "c.weights, c.method_name, c.workload_id, c.prompts, c.output_tokens as max_output_tokens, c.temperature, "
        "c.concurrency, c.arrival, c.request_rate, c.prompt_tokens as nominal_prompt_tokens, c.guided, "
        "d.method, d.num_speculative_tokens, d.draft, d.acceptance, "
        "s.ready_s, s.model_runner, s.async_scheduling, s.attention_backend, s.cudagraph_mode, s.enforce_eager, "
        "s.kv_cache_tokens, s.kv_cache_bytes, s.max_concurrency, s.model_memory_bytes "
        "from warehouse.measurement as m "
        "inner join warehouse.cell as c on m.cell_id = c.cell_id "
        "inner join warehouse.method as d on c.method_id = d.method_id "
        "inner join warehouse.server_start as s using (sweep_id, block_id, start_index, attempt) "
        "where m.sweep_id = :sweep_id "
        "order by m.block_id, m.start_index, m.attempt, m.cell_id, m.repetition",
        {"sweep_id": sweep_id},
    )


def aa_pairs(engine: Engine, sweep_id: str) -> list[dict[str, Any]]:
    """Return A/A log ratios of a sweep and of every earlier one on the same hardware, engine, target and weights.

    hardware_id, engine_id, target, weights, sweep_id, block_id, cell_id, aa_log_ratio; oldest first.
    """
    return records(
        engine,
        "select n.hardware_id, n.engine_id, n.target, n.weights, n.sweep_id, n.block_id, n.cell_id, n.aa_log_ratio "
        "from warehouse.noise_floor as n "
        "where n.aa_log_ratio is not null "
        "and n.sweep_at <= (select s.planned_at from warehouse.sweep as s where s.sweep_id = :sweep_id) "
        "and (n.hardware_id, n.engine_id, n.target, n.weights) in ("
        "select t.hardware_id, t.engine_id, t.target, t.weights "
        "from warehouse.noise_floor as t where t.sweep_id = :sweep_id) "
        "order by n.sweep_at, n.sweep_id, n.block_id, n.cell_id",
        {"sweep_id": sweep_id},
    )
