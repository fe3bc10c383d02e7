"""A running server: ask it, check it, stop it."""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from pipeline.domain.server_start import Failure
from pipeline.serve import probes
from pipeline.serve.errors import ServerDied, ServerFailed, ServerInterrupted
from pipeline.serve.ports import listeners
from pipeline.serve.termination import Termination

Classify = Callable[[int | None, str], Failure]

SCRAPE_TIMEOUT_S = 30.0
_HEALTH_TIMEOUT_S = 10.0
_END_TIMEOUT_S = 5.0  # between the API server's end and the keeper's
_POLL_S = 0.1
_LOG_TAIL_BYTES = 1 << 20


@dataclass(eq=False)
class Server:
    """A running server. Made by `serve` only."""

    url: str
    port: int
    log_path: Path
    classify: Classify
    termination: Termination
    process: subprocess.Popen[bytes]  # the keeper, or the `unshare` around it
    control: int  # write end of the keeper's pipe
    fenced: bool  # in a PID namespace of its own
    served_model: str  # the name that requests use
    started: float = field(default_factory=time.perf_counter)
    ready_s: float = 0.0  # from exec to the first token
    _control_lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def pid(self) -> int | None:
        """The API server's process as this machine sees it; None once it ended."""
        try:
            above = psutil.Process(self.process.pid)
            keeper = above.children()[0] if self.fenced else above
            return int(keeper.children()[0].pid)
        except (psutil.Error, IndexError):
            return None

    @property
    def watched_pid(self) -> int | None:
        """The process whose descendants are the server."""
        return self.process.pid

    def scrape(self) -> str:
        """Return the text of /metrics. Raises ServerDied when the server does not give it."""
        answer = probes.get(self.port, path="/metrics", timeout_s=SCRAPE_TIMEOUT_S)
        if answer is None or answer[0] != 200:
            self.check()
            raise ServerDied(self._silent("/metrics", answer=answer))
        return answer[1]

    def check(self) -> None:
        """Raise ServerDied when the server ended or does not answer, ServerInterrupted when we have to end."""
        if self.termination.reason:
            raise ServerInterrupted(self.termination.reason)
        answer = None
        if self.process.poll() is None:
            answer = probes.get(self.port, path="/health", timeout_s=_HEALTH_TIMEOUT_S)
            if answer and answer[0] == 200:
                return
            self._await_end(timeout_s=_END_TIMEOUT_S)
        if self.process.returncode is not None:
            raise ServerDied(self.classify(self.process.returncode, self.log()))
        raise ServerDied(self._silent("/health", answer=answer))

    def log(self) -> str:
        """Return the end of the log (1 MiB at most)."""
        try:
            with self.log_path.open("rb") as file:
                file.seek(max(0, self.log_path.stat().st_size - _LOG_TAIL_BYTES))
                return file.read().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def kill(self) -> None:
        """Have the keeper kill everything at once: it sees its pipe closed. Safe from any thread."""
        with self._control_lock:
            if self.control >= 0:
                os.close(self.control)
                self.control = -1

    def stop(self, *, grace_s: float) -> None:
        """End the server: politely, after the grace with SIGKILL. Nothing of it is left when this returns."""
        with self._control_lock:
            if self.control >= 0 and self.process.poll() is None:
                with suppress(OSError):  # the keeper ended meanwhile
                    os.write(self.control, b"t")
        self._await_end(timeout_s=grace_s + _END_TIMEOUT_S)
        self.kill()
        self._await_end(timeout_s=_END_TIMEOUT_S)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def await_ready(self, *, timeout_s: float) -> None:
        """Wait for /health, then for a first token. Raises ServerFailed when it ends before, or takes too long."""
        deadline = self.started + timeout_s
        while True:
            self._require_life(deadline, timeout_s=timeout_s)
            answer = probes.get(self.port, path="/health", timeout_s=1.0)
            if answer and answer[0] == 200:
                break
            time.sleep(_POLL_S)
        self._require_the_port_alone()
        remaining = max(1.0, deadline - time.perf_counter())
        answer = probes.complete_one_token(self.port, served_model=self.served_model, timeout_s=remaining)
        if answer is None or answer[0] != 200:
            self._await_end(timeout_s=_END_TIMEOUT_S)
            self._require_life(deadline, timeout_s=timeout_s)
            raise ServerFailed(self._silent("a first completion", answer=answer))
        self.ready_s = time.perf_counter() - self.started

    def _require_the_port_alone(self) -> None:
        sharing = listeners(self.port)
        if sharing > 1:
            failure = Failure(
                "port_taken",
                f"{sharing} servers listen on port {self.port}: another one started there at the same moment.",
                "The next try takes another port; with SPECWATCH_VLLM_PORT set, give each home its own.",
                retryable=True,
            )
            raise ServerFailed(failure)

    def _require_life(self, deadline: float, *, timeout_s: float) -> None:
        status = self.process.poll()
        if status is not None:
            raise ServerFailed(self.classify(status, self.log()))
        if time.perf_counter() >= deadline:
            last = next((line.strip() for line in reversed(self.log().splitlines()) if line.strip()), "(empty log)")
            failure = Failure(
                "startup_timeout",
                f"the server was not ready after {timeout_s:.0f} s; its last log line: {last[:400]}",
                "Give it longer with SPECWATCH_START_TIMEOUT_S, or read server.log.zst for what it waits for.",
                retryable=True,
            )
            raise ServerFailed(failure)

    def _await_end(self, *, timeout_s: float) -> None:
        try:
            self.process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return

    def _silent(self, what: str, *, answer: probes.Answer | None) -> Failure:
        said = "nothing in time" if answer is None else f"HTTP {answer[0]}: {answer[1][:200]}"
        refused = answer is not None and 400 <= answer[0] < 500
        return Failure(
            "unknown" if refused else "engine_died",
            f"the server runs, but answered {what} with {said}",
            "Read the end of server.log.zst; the start is tried again once.",
            retryable=True,
        )
