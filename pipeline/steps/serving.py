"""One server start: serve the arm, warm up, and write one repetition after the other."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.domain.block import LAYOUT_VERSION
from pipeline.domain.cell import Cell
from pipeline.domain.engine import EngineFacts
from pipeline.domain.server_start import Failure, ServerStart
from pipeline.drive.client import Load, drain, drive, warm_up
from pipeline.engines.argv import redact
from pipeline.engines.capability import settle
from pipeline.engines.packages import cuda_of
from pipeline.engines.startup_log import read as read_log
from pipeline.engines.startup_log import with_draft_memory
from pipeline.logs import about
from pipeline.measure.counters import in_flight, kv_cache_usage
from pipeline.plan.remaining import Todo
from pipeline.records import files
from pipeline.records.block import read_starts, write_start
from pipeline.records.layout import LOG_FILE, attempt_directory, repetition_directory
from pipeline.records.repetition import Window, write_repetition
from pipeline.serve import probes
from pipeline.serve.errors import ServerFailed
from pipeline.steps.starting import AnyServer, arm_of, served
from pipeline.telemetry.sampler import watched

if TYPE_CHECKING:
    from pipeline.steps.benching import Bench

DRAIN_S = 60.0
USAGE_TIMEOUT_S = 2.0  # a late answer tells of another moment


def run_start(bench: "Bench", todo: Todo) -> None:
    """Serve one arm and measure its missing repetitions. A failure of the server is recorded, not raised."""
    start = todo.start
    directory = attempt_directory(bench.directory, start, todo.attempt)
    directory.mkdir(parents=True, exist_ok=True)
    arm = arm_of(bench, todo)
    record = ServerStart(
        layout_version=LAYOUT_VERSION,
        index=start.index,
        attempt=todo.attempt,
        position=start.position,
        method_name=start.method.name,
        argv=arm.argv,
        environment=redact(arm.told),
        started_at=datetime.now(UTC).isoformat(),
        ready_s=None,
        facts=EngineFacts(),
    )
    log = directory / LOG_FILE
    try:
        with served(bench, todo, arm, log=log) as server:
            record = replace(record, ready_s=server.ready_s, facts=_facts(bench, todo, log))
            write_start(directory, record)
            bench.report(f"{start.name}: ready" + (f" after {server.ready_s:.0f} s" if server.ready_s else ""))
            for number, (cell, repetition) in enumerate(todo.repetitions, start=bench.complete + 1):
                with about(cell=cell.cell_id):
                    _repeat(bench, server, todo=todo, cell=cell, repetition=repetition, number=number)
        record = replace(record, facts=_facts(bench, todo, log))  # with what it said while it was asked
        write_start(directory, record)
    except ServerFailed as error:
        record = replace(record, facts=_facts(bench, todo, log), failure=error.failure)
        bench.report(f"{start.name}: failed ({error.failure.failure_class}): {error.failure.message}")
        write_start(directory, record)
    finally:
        compress_logs([directory])


def _repeat(bench: "Bench", server: AnyServer, *, todo: Todo, cell: Cell, repetition: int, number: int) -> None:
    load = Load(
        prompts=bench.workloads[cell.workload_id].first(cell.prompts),
        concurrency=cell.concurrency,
        output_tokens=cell.output_tokens,
        temperature=cell.temperature,
        seed=cell.seed,
        request_timeout_s=bench.settings.request_timeout_s,
        deadline_s=bench.settings.window_timeout_s,
        arrival=cell.arrival,
        request_rate=cell.request_rate,
        guided=cell.guided,
    )
    window = measure_window(server, load, platform=bench.block.engine.platform)
    attempt = attempt_directory(bench.directory, todo.start, todo.attempt)
    write_repetition(
        repetition_directory(attempt, cell.cell_id, repetition),
        window,
        start_index=todo.start.index,
        attempt=todo.attempt,
        position=todo.start.position,
        cell_id=cell.cell_id,
        repetition=repetition,
    )
    _tell(bench, cell, repetition, window, number=number)


def measure_window(server: AnyServer, load: Load, *, platform: str) -> Window:
    """Warm up, drain, scrape, send the fixed prompts, drain, scrape. Raises ServerFailed when the server died.

    Telemetry is taken from before the first scrape until after the last one.
    """
    warm_up(server.url, load, served_model=server.served_model)
    with watched(pid=server.watched_pid, platform=platform, usage=partial(_usage, server)) as sampler:
        before = _drained(server)
        driven = drive(server.url, load, served_model=server.served_model)
        after = _drained(server)
    return Window(
        requests=driven.requests,
        before=before,
        after=after,
        started_at=driven.started_at,
        started_at_s=driven.started_at_s,
        ended_at_s=driven.ended_at_s,
        origin_ns=driven.origin_ns,
        client_cpu_s=driven.client.cpu_s,
        client=driven.client,
        telemetry=sampler.samples,
    )


def _usage(server: AnyServer) -> float | None:
    """Return the share of KV cache in use. Raises OSError when the server does not say in time."""
    answer = probes.get(server.port, path="/metrics", timeout_s=USAGE_TIMEOUT_S)
    if answer is None or answer[0] != HTTPStatus.OK:
        message = "/metrics was not answered"
        raise OSError(message)
    return kv_cache_usage(answer[1])


def _drained(server: AnyServer) -> str:
    text = ""

    def running() -> float | None:
        nonlocal text
        server.check()
        text = server.scrape()
        return in_flight(text)

    try:
        drain(running, deadline_s=DRAIN_S)
    except TimeoutError as error:
        failure = Failure(
            failure_class="engine_died",
            message=f"{error}: the engine hangs.",
            next_step="Look at the end of server.log; the start is tried again once.",
            retryable=True,
        )
        raise ServerFailed(failure) from error
    return text


def _tell(bench: "Bench", cell: Cell, repetition: int, window: Window, *, number: int) -> None:
    tokens = sum(record.output_tokens or 0 for record in window.requests)
    failed = sum(1 for record in window.requests if record.failed)
    seconds = max(window.ended_at_s - window.started_at_s, 1e-9)
    trouble = f", {failed} of {len(window.requests)} requests failed" if failed else ""
    which = f"{number} of {bench.planned}: {cell.label} repetition {repetition + 1}"
    bench.report(f"{which}: {tokens} tokens in {seconds:.1f} s ({tokens / seconds:.1f}/s){trouble}")
    if bench.progress:
        bench.progress(number, bench.planned, cell.label)


def compress_logs(attempts: Iterable[Path]) -> None:
    """Compress server logs that lie there as plain text; a killed run leaves them so."""
    for directory in attempts:
        plain = directory / LOG_FILE
        if plain.exists():
            files.write_bytes(directory / f"{LOG_FILE}.zst", files.compress(plain.read_bytes()))
            plain.unlink()


def _facts(bench: "Bench", todo: Todo, log: Path) -> EngineFacts:
    """What the log says, what the platform's code settles, and the torch and CUDA that are installed beside it."""
    engine = bench.block.engine
    if engine.external:
        return EngineFacts(vllm_version=engine.version)
    packages = bench.prepared.engine.packages
    found = replace(read_log(_text(log)), torch_version=packages.get("torch"), cuda_version=cuda_of(packages))
    if found.vllm_version is None:
        return found
    found = settle(found, engine=engine)
    return with_draft_memory(found, baseline=_baseline(bench)) if todo.start.method.draft else found


def _baseline(bench: "Bench") -> EngineFacts | None:
    """What the block's last opening baseline said of itself."""
    openings = [start for start in read_starts(bench.directory) if start.position == "opening"]
    return max(openings, key=lambda start: start.attempt).facts if openings else None


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
