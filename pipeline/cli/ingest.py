"""`specwatch ingest` and the analysis that follows it."""

from pathlib import Path
from typing import Any

from pipeline import steps
from pipeline.cli.output import counted, progress_bar, say, say_json, tell
from pipeline.errors import EXIT_DONE, EXIT_GATE, GateFailed, UserError
from pipeline.records.layout import BLOCK_FILE, SWEEP_FILE


def run(arguments: Any) -> int:
    """Ingest every block found, analyze their sweeps, and check those that are whole."""
    blocks = [block for path in arguments.paths for block in blocks_under(Path(path))]
    with progress_bar("reading") as (progress, report):
        loads = [
            steps.ingest_block(str(block), report=report)
            for block in counted(blocks, progress=progress, name=block_name)
        ]
        sweeps = sorted({load["sweep_id"] for load in loads})
        analyses = [steps.analyze_sweep(sweep, margin=arguments.margin, report=report) for sweep in sweeps]
    problems = [problem for sweep in sorted({block.parent for block in blocks}) if (problem := _problem(sweep))]
    if arguments.json:
        say_json({"loads": loads, "analyses": analyses, "problems": problems})
    else:
        for load in loads:
            say(f"{load['state']}: {load['measurements']} measurements of {load['block_dir']}")
        for problem in problems:
            say(problem)
        say("next: specwatch verdict")
    return EXIT_GATE if problems else EXIT_DONE


def block_name(block: Path) -> str:
    """Return a block's directory as a person reads it: sweep and block."""
    return f"{block.parent.name}/{block.name}"


def blocks_under(path: Path) -> list[Path]:
    """Return the block directories at or under `path`. Raises UserError when there is none."""
    if (path / BLOCK_FILE).is_file():
        return [path.resolve()]
    found = sorted(p.parent.resolve() for p in path.glob(f"*/{BLOCK_FILE}"))
    if not found:
        found = sorted(p.parent.resolve() for p in path.glob(f"*/*/{BLOCK_FILE}"))
    if not found:
        message = f"{path} holds no run directory (no {BLOCK_FILE} in it): give a sweep's or a block's directory."
        raise UserError(message)
    return found


def _problem(sweep_dir: Path) -> str | None:
    if not (sweep_dir / SWEEP_FILE).exists():
        return None  # a block copied alone: its sweep cannot be checked here
    try:
        steps.check_sweep(str(sweep_dir), report=tell)
    except GateFailed as error:
        return str(error)
    return None
