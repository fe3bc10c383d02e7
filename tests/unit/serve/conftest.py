"""One fake engine and model a session, and the arguments of `serve` for them."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipeline.engines.failures import classify
from pipeline.serve.orphans import find_marked, stop_marked
from pipeline.serve.surroundings import marks
from tests.support.fake_vllm.engine import make_fake_engine, make_fake_model
from tests.support.worker_port import worker_port

REPOSITORY = Path(__file__).resolve().parents[3]


def until(condition: Callable[[], object], *, timeout_s: float = 10.0, what: str = "it") -> None:
    """Poll with a deadline."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {timeout_s} s"
        time.sleep(0.02)


@dataclass
class Arm:
    """A server that a test may start, in this process or in a task of its own."""

    python: Path
    model: Path
    directory: Path
    port: int
    marker: str = field(default_factory=lambda: uuid.uuid4().hex)
    tasks: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def argv(self) -> tuple[str, ...]:
        return (
            *(str(self.python), "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1"),
            *("--port", str(self.port), "--model", str(self.model), "--served-model-name", "m"),
        )

    @property
    def lock_path(self) -> Path:
        return self.directory / "cpu.lock"

    @property
    def log_path(self) -> Path:
        return self.directory / "server.log"

    @property
    def marks(self) -> dict[str, str]:
        return marks(self.marker, lock_path=self.lock_path)

    def told(self, **script: str) -> dict[str, str]:
        return {f"FAKE_VLLM_{name.upper()}": value for name, value in script.items()}

    def arguments(self, **script: str) -> dict[str, Any]:
        """The keyword arguments of `serve`, ready for JSON; `script` goes to the fake server."""
        return {
            "environment": self.told(**script),
            "port": self.port,
            "served_model": "m",
            "log_path": self.log_path,
            "lock_path": self.lock_path,
            "marker": self.marker,
            "start_timeout_s": 30.0,
            "stop_grace_s": 5.0,
        }

    def serve_arguments(self, **script: str) -> dict[str, Any]:
        return self.arguments(**script) | {"classify": classify}

    def task(self, *, above: list[str] | None = None, script: dict[str, str] | None = None, **more: Any) -> Any:
        """Start a task that serves; `above` is a command that starts it as its own child."""
        job = self.arguments(**(script or {})) | {"argv": self.argv} | more
        command = [sys.executable, "-m", "tests.support.serve_task", json.dumps(job, default=str)]
        task = subprocess.Popen([*(above or []), *command], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
        self.tasks.append(task)
        return task

    def left(self) -> list[int]:
        """The processes that carry the marks."""
        found = find_marked(self.marks)
        for handle in found.values():
            os.close(handle)
        return sorted(found)


def event(task: subprocess.Popen[str], name: str) -> dict[str, Any]:
    """Return the next event of that name; other events are passed over."""
    assert task.stdout is not None
    for line in task.stdout:
        said: dict[str, Any] = json.loads(line)
        if said["event"] == name:
            return said
    message = f"the task ended without {name}"
    raise AssertionError(message)


@pytest.fixture(scope="session")
def fake_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_fake_engine(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def arm(fake_python: Path, tmp_path: Path) -> Iterator[Arm]:
    arm = Arm(
        python=fake_python,
        model=make_fake_model(tmp_path / "model"),
        directory=tmp_path,
        port=worker_port(),
    )
    yield arm
    for task in arm.tasks:
        task.kill()
        task.wait()
        if task.stdout:
            task.stdout.close()
    stop_marked(arm.marks, report=lambda _: None)
