"""`specwatch bench`: measure a matrix into run directories. No database, no Airflow."""

import os
from typing import Any

from pipeline import steps
from pipeline.cli.output import chosen, progress_bar, say, say_json
from pipeline.errors import EXIT_DONE, EXIT_GATE


def run(arguments: Any) -> int:
    """Plan, then prepare and bench each block; an unfinished sweep of the same matrix is continued."""
    if arguments.runs:
        os.environ["SPECWATCH_RUNS"] = arguments.runs
    sweep_id = arguments.sweep
    if arguments.new and not sweep_id:
        from pipeline.steps.planning import new_sweep_id

        sweep_id = new_sweep_id(arguments.matrix, overrides=chosen(arguments))
    plan = steps.plan_sweep(arguments.matrix, sweep_id=sweep_id, overrides=chosen(arguments))
    results = []
    with progress_bar("preparing") as (progress, report):
        report(f"sweep {plan['sweep_id']}: {plan['cells']} cells, {plan['skipped']} skipped, in {plan['sweep_dir']}")
        for block in plan["blocks"]:
            steps.prepare_block(block, report=report)
            results.append(steps.bench_block(block, report=report, progress=progress, watch_ancestors=False))
    if arguments.json:
        say_json(plan | {"results": results})
    else:
        measured, failed = (sum(result[key] for result in results) for key in ("measured", "failed"))
        say(f"{measured} measured, {failed} failed, {plan['skipped']} skipped (baselines counted): {plan['sweep_dir']}")
        say(f"next: specwatch ingest {plan['sweep_dir']}")
    return EXIT_GATE if any(result["failed"] for result in results) else EXIT_DONE
