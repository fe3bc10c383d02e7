"""`specwatch analyze`: speedups and verdicts again, from what the warehouse holds."""

from typing import Any

from pipeline import steps
from pipeline.cli.output import counted, progress_bar, say, say_json
from pipeline.errors import EXIT_DONE
from pipeline.settings import load_settings


def run(arguments: Any) -> int:
    """Analyze the sweeps that were named, or all of them."""
    sweeps = arguments.sweeps or _all()
    with progress_bar("analyzing") as (progress, report):
        results = [
            steps.analyze_sweep(sweep, margin=arguments.margin, report=report)
            for sweep in counted(sweeps, progress=progress, name=str)
        ]
    if arguments.json:
        say_json(results)
    else:
        say(f"{len(results)} sweeps, {sum(result['verdicts'] for result in results)} verdicts")
    return EXIT_DONE


def _all() -> list[str]:
    from pipeline.steps.warehousing import open_migrated
    from pipeline.warehouse.queries import night_summary

    engine, _ = open_migrated(load_settings())
    return [str(sweep) for sweep in night_summary(engine, limit=100_000)["sweep_id"]]
