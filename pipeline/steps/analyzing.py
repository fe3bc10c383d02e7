"""Warehouse -> speedups and verdicts -> warehouse."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from pipeline.analyze.noise import StartVariance, start_variance
from pipeline.analyze.reasons import reasons
from pipeline.analyze.samples import Sample, StartFacts, StartKey, Window
from pipeline.analyze.speedup import cell_speedups
from pipeline.analyze.verdict import decide
from pipeline.domain.verdict import DEFAULT_MARGIN, Speedup, Verdict
from pipeline.settings import load_settings
from pipeline.steps.warehousing import open_migrated
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.queries import aa_pairs, cell_measurements, paired_requests

Rows = Sequence[Mapping[str, Any]]
Group = tuple[str, str, str, str]  # hardware, engine, target and its weights: what may be compared
_OF_GROUP = ("hardware_id", "engine_id", "target", "weights")  # of an A/A pair
Samples = defaultdict[tuple[str, str], list[Sample]]  # by hardware and cell: a night has 200 cells
VERDICT_METRIC = "latency_speedup"


def analyze_sweep(sweep_id: str, *, margin: float | None, report: Callable[[str], None]) -> dict[str, Any]:
    """See pipeline.steps.analyze_sweep."""
    engine, _ = open_migrated(load_settings())
    measured, requests = cell_measurements(engine, sweep_id), paired_requests(engine, sweep_id)
    if measured and not requests:
        report(f"sweep {sweep_id}: its requests are past their retention, what was found in them stays")
        return {"sweep_id": sweep_id, "speedups": 0, "verdicts": 0}
    speedups, verdicts = derive(
        sweep_id,
        measured=measured,
        requests=requests,
        pairs=aa_pairs(engine, sweep_id),
        margin=margin or DEFAULT_MARGIN,
    )
    write_derived(engine, sweep_id, speedups=speedups, verdicts=verdicts)
    report(f"sweep {sweep_id}: {len(speedups)} speedups, {len(verdicts)} verdicts")
    return {"sweep_id": sweep_id, "speedups": len(speedups), "verdicts": len(verdicts)}


def derive(
    sweep_id: str, *, measured: Rows, requests: Rows, pairs: Rows, margin: float
) -> tuple[list[Speedup], list[Verdict]]:
    """Return speedups and verdicts of a sweep from the rows of warehouse.queries; pure."""
    speedups: list[Speedup] = []
    verdicts: list[Verdict] = []
    groups: dict[Group, list[Mapping[str, Any]]] = defaultdict(list)
    for row in measured:
        groups[row["hardware_id"], row["engine_id"], row["target_name"], row["weights"]].append(row)
    samples: Samples = defaultdict(list)
    for row in requests:
        samples[row["hardware_id"], row["cell_id"]].append(_sample(row))
    for group, rows in groups.items():
        found = _group(rows, samples, pairs=pairs, group=group, margin=margin, sweep_id=sweep_id)
        speedups.extend(found[0])
        verdicts.extend(found[1])
    return speedups, verdicts


def _group(
    rows: Rows, samples: Samples, *, pairs: Rows, group: Group, margin: float, sweep_id: str
) -> tuple[list[Speedup], list[Verdict]]:
    windows = [_window(row) for row in rows]
    alike = [row for row in pairs if tuple(row[name] for name in _OF_GROUP) == group]
    starts = start_variance(_aa_by_block(alike))
    tonight = _aa_by_cell(alike, sweep_id)
    speedups: list[Speedup] = []
    verdicts: list[Verdict] = []
    baselines = {row["cell_id"]: row["baseline_cell_id"] for row in rows if not row["is_baseline"]}
    for cell_id, baseline_cell_id in sorted(baselines.items()):
        of_both = [*samples[group[0], cell_id], *samples[group[0], baseline_cell_id]]
        found = cell_speedups(
            of_both,
            windows,
            sweep_id=sweep_id,
            cell_id=cell_id,
            hardware_id=group[0],
            baseline_cell_id=baseline_cell_id,
            starts=starts,
        )
        speedups.extend(speedup for speedup, _ in found)
        for speedup, interval in found:
            if speedup.metric == VERDICT_METRIC:
                why = _why(speedup, rows, windows, of_both, baseline_cell_id=baseline_cell_id, starts=starts)
                aa = tonight.get(baseline_cell_id)
                verdicts.append(decide(speedup, interval, margin=margin, aa_log_ratio=aa, reasons=why))
    return speedups, verdicts


def _why(
    speedup: Speedup,
    rows: Rows,
    windows: Sequence[Window],
    samples: Sequence[Sample],
    *,
    baseline_cell_id: str,
    starts: StartVariance,
) -> tuple[str, ...]:
    base = next((_facts(row) for row in rows if row["cell_id"] == baseline_cell_id), None)
    arm = next((_facts(row) for row in rows if row["cell_id"] == speedup.cell_id), None)
    facts = (base, arm) if base and arm else None
    return reasons(speedup, windows, samples, baseline_cell_id=baseline_cell_id, facts=facts, starts=starts)


def _aa_by_block(pairs: Rows) -> dict[str, list[float]]:
    blocks: dict[str, list[float]] = defaultdict(list)
    for row in pairs:
        blocks[f"{row['sweep_id']}/{row['block_id']}"].append(float(row["aa_log_ratio"]))
    return blocks


def _aa_by_cell(pairs: Rows, sweep_id: str) -> dict[str, float]:
    cells: dict[str, list[float]] = defaultdict(list)
    for row in pairs:
        if row["sweep_id"] == sweep_id:
            cells[row["cell_id"]].append(float(row["aa_log_ratio"]))
    return {cell_id: fmean(ratios) for cell_id, ratios in cells.items()}


def _start(row: Mapping[str, Any]) -> StartKey:
    return StartKey(block_id=row["block_id"], start_index=row["start_index"], attempt=row["attempt"])


def _sample(row: Mapping[str, Any]) -> Sample:
    return Sample(
        cell_id=row["cell_id"],
        start=_start(row),
        prompt_id=row["prompt_id"],
        e2e_latency_ms=row["e2e_latency_ms"],
        tpot_ms=row["tpot_ms"],
        output_tokens=row["output_tokens"],
        failed=row["error"] is not None,
    )


def _window(row: Mapping[str, Any]) -> Window:
    return Window(
        cell_id=row["cell_id"],
        start=_start(row),
        at_s=float(row["started_at"]),
        concurrency=row["concurrency"],
        ttft_sum_share=row["prefill_share"],
        server_output_tokens=row["server_output_tokens"],
        requests=row["requests"],
        engine_steps=row["engine_steps"],
        step_time_ms=row["step_time_ms"],
        drafts=row["drafts"],
        drafted_tokens=row["drafted_tokens"],
        accepted_tokens=row["accepted_tokens"],
        identical_share=row["identical_share"],
        faults=tuple(row["faults"]),
    )


def _facts(row: Mapping[str, Any]) -> StartFacts:
    return StartFacts(
        model_runner=row["model_runner"],
        async_scheduling=row["async_scheduling"],
        attention_backend=row["attention_backend"],
        kv_cache_tokens=row["kv_cache_tokens"],
    )
