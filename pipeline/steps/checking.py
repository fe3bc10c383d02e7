"""The end of a run: green only when every planned cell was skipped by the registry, or measured and published."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.errors import GateFailed
from pipeline.records.block import read_block, read_sweep
from pipeline.settings import load_settings
from pipeline.steps.warehousing import open_migrated
from pipeline.warehouse.queries import cell_status


def check_sweep(sweep_dir: str, *, report: Callable[[str], None]) -> dict[str, Any]:
    """See pipeline.steps.check_sweep."""
    directory = Path(sweep_dir)
    plan = read_sweep(directory)
    engine, _ = open_migrated(load_settings())
    there = {row["cell_id"]: row for row in cell_status(engine, plan.sweep.sweep_id)}
    problems: list[str] = []
    counts: dict[str, int] = {}
    for block_id in plan.blocks:
        block = read_block(directory / block_id)
        planned = {cell.cell_id: cell.label for start in block.starts for cell in start.cells}
        planned |= {skip.cell.cell_id: skip.cell.label for skip in block.skipped}
        for cell_id, label in planned.items():
            row = there.get(cell_id)
            status = row["status"] if row else "missing"
            counts[status] = counts.get(status, 0) + 1
            reason = row["reason"] if row else "it never reached the warehouse"
            if status not in ("measured", "skipped") or (status == "measured" and reason):
                problems.append(f"{label} ({cell_id}): {status}: {reason}")
    report(f"sweep {plan.sweep.sweep_id}: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    if problems:
        message = f"{len(problems)} of {sum(counts.values())} cells of {plan.sweep.sweep_id} have no clean result:\n"
        raise GateFailed(message + "\n".join(f"  {problem}" for problem in problems))
    return {"sweep_id": plan.sweep.sweep_id} | counts
