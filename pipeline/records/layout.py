"""Where things lie in a run directory."""

from pathlib import Path

from pipeline.domain.block import PlannedStart

SWEEP_FILE = "sweep.json"
BLOCK_FILE = "block.json"  # the plan
WORKLOADS_FILE = "workloads.json"  # the prompts themselves: a later release may have others
HOST_FILE = "host.json"  # hardware and models as found where the block runs
RESULT_FILE = "BLOCK.json"  # written last
TROUBLE_FILE = "trouble.json"  # the last error that kept the block from finishing
INTERRUPTIONS_FILE = "interruptions.json"
START_FILE = "start.json"
LOG_FILE = "server.log"
MANIFEST_FILE = "MANIFEST.json"
REQUESTS_FILE = "requests.jsonl.zst"
BEFORE_FILE = "before.prom.zst"
AFTER_FILE = "after.prom.zst"
TELEMETRY_FILE = "telemetry.jsonl.zst"  # of a repetition; what was recorded before 2026-12 has none


def attempt_directory(block: Path, start: PlannedStart, attempt: int) -> Path:
    """Return the directory of one server start."""
    return block / "starts" / start.name / str(attempt)


def repetition_directory(attempt: Path, cell_id: str, repetition: int) -> Path:
    """Return the directory of one repetition."""
    return attempt / cell_id / str(repetition)
