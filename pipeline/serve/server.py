"""A server as a context manager: fenced, started, ready or failed with a reason, stopped; its log kept."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.domain.server_start import Failure
from pipeline.serve.ancestors import watched
from pipeline.serve.errors import ServerFailed
from pipeline.serve.fencing import namespace_command
from pipeline.serve.lock import held
from pipeline.serve.orphans import stop_marked
from pipeline.serve.ports import HOST, is_free
from pipeline.serve.running import Classify, Server
from pipeline.serve.surroundings import marks, server_environment
from pipeline.serve.termination import Termination, terminable

__all__ = ["Server", "serve"]

KEEPER = Path(__file__).with_name("keeper.py")
STOP_GRACE_S = 20.0
LOCK_TIMEOUT_S = 3600.0


@contextmanager
def serve(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    port: int,
    served_model: str,
    log_path: Path,
    lock_path: Path,
    marker: str,
    start_timeout_s: float,
    classify: Classify,
    report: Callable[[str], None] = lambda _: None,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
    stop_grace_s: float = STOP_GRACE_S,
    watch_ancestors: bool = True,
    namespace: bool | None = None,
    before_start: Callable[[], None] = lambda: None,
) -> Iterator[Server]:
    """Hold the lock, stop orphans, start `argv`, and yield the server once it gave a first token.

    `environment` is what the server is told on top of ours. `watch_ancestors`: end when the parent or grandparent
    does. `namespace`: None takes a PID namespace where that is allowed, False never does. `before_start` is called
    when the lock is held and no orphan is left, and may raise. Use it from the main thread:
    elsewhere SIGTERM is not caught. Raises ServerFailed; ServerInterrupted when we have to end; EnvironmentFault when
    the lock is not free in time.
    """
    marked = marks(marker, lock_path=lock_path)

    def stop_orphans(of: str) -> int:
        return stop_marked(marked | marks(of, lock_path=lock_path), report=report)

    with (
        terminable() as termination,
        watched(termination.interrupt, enabled=watch_ancestors),
        held(lock_path, marker=marker, timeout_s=lock_timeout_s, report=report, stop_orphans=stop_orphans) as (
            lock,
            last_marker,
        ),
    ):
        for owner in dict.fromkeys((marker, last_marker or marker)):
            stop_orphans(owner)
        before_start()
        _require_port(port)
        server: Server | None = None
        try:
            with termination.deferred():  # a signal between the start and the assignment would leak the server
                server = _launch(
                    argv,
                    environment=server_environment(os.environ, told=environment, marked=marked),
                    port=port,
                    log_path=log_path,
                    classify=classify,
                    termination=termination,
                    lock=lock,
                    prefix=() if namespace is False else namespace_command(),
                    grace_s=stop_grace_s,
                    served_model=served_model,
                )
                termination.kill_first(server.kill)
            server.await_ready(timeout_s=start_timeout_s)
            yield server
        finally:
            termination.stopping()
            if server:
                server.stop(grace_s=stop_grace_s)
                stop_orphans(marker)


def _require_port(port: int) -> None:
    if not is_free(port):
        failure = Failure(
            "port_taken",
            f"port {port} on {HOST} is taken by another process.",
            "Stop what listens there, or set SPECWATCH_VLLM_PORT to a free port.",
            retryable=True,
        )
        raise ServerFailed(failure)


def _launch(
    argv: Sequence[str],
    *,
    environment: dict[str, str],
    port: int,
    log_path: Path,
    classify: Classify,
    termination: Termination,
    lock: int,
    prefix: tuple[str, ...],
    grace_s: float,
    served_model: str,
) -> Server:
    log_path.parent.mkdir(parents=True, exist_ok=True)
    read, write = os.pipe()
    job = {
        "namespace": list(prefix),
        "init": False,
        "parent": os.getpid(),
        "die_with_parent": threading.current_thread() is threading.main_thread(),
        "control": read,
        "lock": lock,
        "grace_s": grace_s,
        "command": list(argv),
    }
    try:
        with log_path.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), json.dumps(job)],
                env=environment,
                stdin=subprocess.DEVNULL,  # an inherited stdin would hold the supervisor's socket open
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(read, lock),
                start_new_session=True,
            )
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    return Server(
        url=f"http://{HOST}:{port}",
        port=port,
        log_path=log_path,
        classify=classify,
        termination=termination,
        process=process,
        control=write,
        fenced=bool(prefix),
        served_model=served_model,
    )
