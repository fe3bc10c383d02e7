"""A block, measured: server starts in order, every repetition written before the next begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.domain.block import Block, CellOutcome, Interruption
from pipeline.domain.server_start import Failure, ServerStart
from pipeline.domain.workload import Workload
from pipeline.engines.kept import using
from pipeline.plan.remaining import Complete, Remaining, remaining, without_baseline
from pipeline.records import files
from pipeline.records.block import (
    append_host,
    attempt_directories,
    complete_repetitions,
    current_repetitions,
    read_block,
    read_hosts,
    read_result,
    read_starts,
    read_trouble,
    read_workloads,
    write_result,
)
from pipeline.records.layout import INTERRUPTIONS_FILE
from pipeline.records.repetition import Manifest
from pipeline.settings import Settings, load_settings
from pipeline.steps.preparing import Prepared, host_of, prepare, troubles_kept
from pipeline.steps.serving import compress_logs, run_start
from pipeline.telemetry.hardware import find_hardware

Report = Callable[[str], None]
Progress = Callable[[int, int, str], None]

ATTEMPTS = 2  # of a start whose failure is worth another try, inside one run of the block
ATTEMPTS_AT_PORTS = 5  # of one that found its port taken meanwhile: the next try takes another port


@dataclass(frozen=True, slots=True)
class Bench:
    """What the parts of one run of a block share."""

    block: Block
    directory: Path
    prepared: Prepared
    workloads: dict[str, Workload]
    settings: Settings
    report: Report
    progress: Progress | None
    watch_ancestors: bool

    @property
    def planned(self) -> int:
        """Repetitions in the plan."""
        return sum(len(start.cells) for start in self.block.starts) * self.block.repetitions

    @property
    def complete(self) -> int:
        """Repetitions on disk, made on the hardware that the block runs on now."""
        return len({(m.start_index, m.cell_id, m.repetition) for _, m in current_repetitions(self.directory)})


def bench_block(block_dir: str, *, report: Report, progress: Progress | None, watch_ancestors: bool) -> dict[str, Any]:
    """See pipeline.steps.bench_block."""
    directory = Path(block_dir)
    block = read_block(directory)
    result = read_result(directory)
    if result is None:
        with troubles_kept(directory, stage="bench"):
            _measure(block, directory, report=report, progress=progress, watch_ancestors=watch_ancestors)
        result = read_result(directory)
        if result is None:
            message = f"{directory} has no result after it was measured"
            raise RuntimeError(message)
    else:
        report(f"block {block.block_id} is complete already")
    return {"block_dir": block_dir} | {
        status: sum(1 for outcome in result.outcomes if outcome.status == status)
        for status in ("measured", "failed", "skipped")
    }


def _measure(
    block: Block, directory: Path, *, report: Report, progress: Progress | None, watch_ancestors: bool
) -> None:
    settings = load_settings()
    gaps: list[Interruption] = []
    hardware = find_hardware(wanted=block.engine.platform)
    earlier = read_hosts(directory)
    if block.starts:
        compress_logs(attempt_directories(directory))  # of a run that was killed
        prepared = prepare(block, settings=settings, report=report)
        append_host(directory, host_of(hardware, prepared.models, prepared.engine.packages))
        bench = Bench(
            block, directory, prepared, read_workloads(directory), settings, report, progress, watch_ancestors
        )
        moved = bool(earlier) and earlier[-1].hardware != hardware
        gaps = _interruptions(bench, _rest(bench, complete_repetitions(directory), same_hardware=not moved))
        with using(prepared.engine, root=settings.engines):
            _run_rest(bench)
    else:
        append_host(directory, host_of(hardware, (), {}))
    write_result(directory, block, outcomes(block, directory), gaps)


def _run_rest(bench: Bench) -> None:
    tried: dict[int, int] = {}
    while True:
        rest = _rest(bench, current_repetitions(bench.directory), tried=tried)
        if not rest.todo:
            return
        todo = rest.todo[0]
        tried[todo.start.index] = tried.get(todo.start.index, 0) + 1
        run_start(bench, todo)


def _rest(
    bench: Bench,
    found: Sequence[tuple[Path, Manifest]],
    *,
    same_hardware: bool = True,
    tried: dict[int, int] | None = None,
) -> Remaining:
    attempts: dict[int, int] = {}
    for path in attempt_directories(bench.directory):
        index = int(path.parent.name.split("-", 1)[0])
        attempts[index] = max(attempts.get(index, 0), int(path.name))
    complete = _complete(found)
    return remaining(
        bench.block,
        complete=complete,
        attempts=attempts,
        failed=_given_up(bench, tried or {})
        | without_baseline(bench.block, failed_for_good=_failed_for_good(bench.directory), complete=complete),
        now_s=datetime.now(UTC).timestamp(),
        same_hardware=same_hardware,
    )


def _given_up(bench: Bench, tried: dict[int, int]) -> set[tuple[int, str]]:
    """Cells of starts whose last failure is final, or that failed often enough in this run."""
    final = {
        index
        for index, start in _last_attempts(bench.directory).items()
        if start.failure and (not start.failure.retryable or tried.get(index, 0) >= _attempts(start.failure, bench))
    }
    return {(s.index, cell.cell_id) for s in bench.block.starts if s.index in final for cell in s.cells}


def _complete(found: Sequence[tuple[Path, Manifest]]) -> list[Complete]:
    return [Complete(m.start_index, m.attempt, m.cell_id, m.repetition, ended_at_s=m.ended_at_s) for _, m in found]


def _last_attempts(directory: Path) -> dict[int, ServerStart]:
    last: dict[int, ServerStart] = {}
    for start in read_starts(directory):
        last[start.index] = max(start, last.get(start.index, start), key=lambda s: s.attempt)
    return last


def _failed_for_good(directory: Path) -> set[int]:
    """Starts whose last failure would only repeat itself."""
    return {i for i, start in _last_attempts(directory).items() if start.failure and not start.failure.retryable}


def _attempts(failure: Failure, bench: Bench) -> int:
    if failure.failure_class == "port_taken" and bench.settings.vllm_port is None:
        return ATTEMPTS_AT_PORTS
    return ATTEMPTS


def _interruptions(bench: Bench, rest: Remaining) -> list[Interruption]:
    path = bench.directory / INTERRUPTIONS_FILE
    known = list(files.read(path, tuple[Interruption, ...])) if path.exists() else []
    if rest.gap_s is not None and rest.todo:
        known.append(Interruption(resumed_at=_now(), gap_s=rest.gap_s, reopened=rest.reopened))
        files.write_bytes(path, files.dump(tuple(known), tuple[Interruption, ...]))
        again = ", with a new opening baseline" if rest.reopened else ""
        bench.report(f"block {bench.block.block_id}: resumed {rest.gap_s:.0f} s after the last repetition{again}")
    return known


def outcomes(block: Block, directory: Path) -> list[CellOutcome]:
    """Return what became of every planned cell, from what lies in `directory`."""
    found = current_repetitions(directory)
    complete: dict[tuple[int, str], set[int]] = {}
    for _, manifest in found:
        complete.setdefault((manifest.start_index, manifest.cell_id), set()).add(manifest.repetition)
    pointless = without_baseline(block, failed_for_good=_failed_for_good(directory), complete=_complete(found))
    failures = {start.index: start.failure for start in read_starts(directory) if start.failure}
    trouble = read_trouble(directory)
    unfinished = trouble.message if trouble else "the block did not finish: bench it again"
    told = [CellOutcome(None, skip.cell.cell_id, "skipped", reason=skip.reason) for skip in block.skipped]
    for start in block.starts:
        for cell in start.cells:
            done = len(complete.get((start.index, cell.cell_id), ()))
            if done == block.repetitions:
                told.append(CellOutcome(start.index, cell.cell_id, "measured"))
                continue
            failure = failures.get(start.index)
            said = _said(failure) if failure else unfinished
            if failure is None and (start.index, cell.cell_id) in pointless:
                failure = failures[block.starts[0].index]
                said = (
                    f"not started: its opening baseline failed, so there is nothing to compare with. {_said(failure)}"
                )
            reason = f"{done} of {block.repetitions} repetitions: {said}" if done else said
            name = failure.failure_class if failure else None
            told.append(CellOutcome(start.index, cell.cell_id, "failed", reason=reason, failure=name))
    return told


def _said(failure: Failure) -> str:
    return f"{failure.message.rstrip('.')}. {failure.next_step}"


def _now() -> str:
    return datetime.now(UTC).isoformat()
