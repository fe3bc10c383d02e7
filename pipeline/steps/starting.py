"""The server of one arm: started by us from its command line, or one that runs already."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pynvml

from pipeline.engines.argv import build, environment
from pipeline.engines.failures import classify
from pipeline.plan.remaining import Todo
from pipeline.serve.external import Expected, ExternalServer, attach
from pipeline.serve.gpu import require_empty
from pipeline.serve.ports import first_free_port
from pipeline.serve.server import Server, serve
from pipeline.steps.planning import SERVED_MODEL, VLLM_PORT
from pipeline.system.processes import home_marker

if TYPE_CHECKING:
    from pipeline.steps.benching import Bench

VLLM_PORTS = 400  # sweeps of different homes start at different ports, so that they seldom race for one

AnyServer = Server | ExternalServer


@dataclass(frozen=True, slots=True)
class Arm:
    """How the server of an arm comes to be. An external one has no command line that we know."""

    url: str | None  # of an external server
    port: int
    argv: tuple[str, ...]
    told: dict[str, str]


def arm_of(bench: "Bench", todo: Todo) -> Arm:
    """Return the command line and environment of the arm, or where its server runs already."""
    engine, start = bench.block.engine, todo.start
    if engine.external:
        return Arm(url=dict(engine.external)[start.method.name], port=0, argv=(), told={})
    port = bench.settings.vllm_port or first_free_port(VLLM_PORT + os.getpid() % VLLM_PORTS)
    settings = start.cells[0].server
    argv = build(
        bench.prepared.engine.python,
        engine=engine,
        target=bench.prepared.target,
        method=start.method,
        draft=bench.prepared.drafts.get(start.method.draft.name) if start.method.draft else None,
        server=settings,
        port=port,
        served_model=SERVED_MODEL,
    )
    told = environment(engine, server=settings, cache_root=bench.settings.home / "cache")
    return Arm(url=None, port=port, argv=argv, told=told)


@contextmanager
def served(bench: "Bench", todo: Todo, arm: Arm, *, log: Path) -> Iterator[AnyServer]:
    """Yield the arm's server, ready. Raises ServerFailed; ServerInterrupted when we have to end."""
    engine, method = bench.block.engine, todo.start.method
    lock = bench.settings.locks / f"{accelerator(engine.platform)}.lock"
    marker = home_marker(bench.settings.home)
    if arm.url is not None:
        bench.report(f"{todo.start.name}: measuring the server at {arm.url}")
        expected = Expected(
            arm=method.name,
            version=engine.version,
            num_speculative_tokens=method.num_speculative_tokens,
            max_model_len=todo.start.cells[0].server.max_model_len,
        )
        with attach(
            arm.url,
            expected=expected,
            lock_path=lock,
            marker=marker,
            report=bench.report,
            watch_ancestors=bench.watch_ancestors,
        ) as external:
            yield external
        return
    bench.report(f"{todo.start.name}: starting vLLM {engine.version} on port {arm.port}")
    with serve(
        arm.argv,
        environment=arm.told,
        port=arm.port,
        served_model=SERVED_MODEL,
        log_path=log,
        lock_path=lock,
        marker=marker,
        start_timeout_s=bench.settings.start_timeout_s,
        classify=classify,
        report=bench.report,
        watch_ancestors=bench.watch_ancestors,
        before_start=partial(require_empty, pynvml) if engine.platform == "cuda" else lambda: None,
    ) as server:
        yield server


def accelerator(platform: str) -> str:
    """The name of what a lock protects."""
    return "cpu" if platform == "cpu" else "gpu-0"
