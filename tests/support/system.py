"""The real system for tests: Postgres, Airflow, edge worker and dashboard as processes, in a home of their own."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.settings import REPOSITORY
from pipeline.steps.warehousing import migrate_warehouse
from pipeline.system import supervise
from pipeline.system.airflow_api import Airflow
from pipeline.system.down import down
from pipeline.system.layout import Layout
from pipeline.system.ports import choose_port
from pipeline.system.processes import find_marked
from pipeline.system.state import SystemState
from pipeline.system.up import up
from tests.support.fake_vllm.engine import make_fake_engine, make_fake_model

FIRST_PORT = 29100  # away from the defaults: a system that a developer runs must not be met
VLLM_PORT = 29190
MATRIX = """\
version: 1
name: {name}
engines:
  - {{version: "0.32.0", platform: cpu, python: {python}}}
targets:
  - {{name: fake-target, source: {model}}}
methods:
  - {{name: ngram-k4, method: ngram, num_speculative_tokens: 4, options: {{prompt_lookup_max: 5}}}}
workloads: [structured]
prompts: {prompts}
output_tokens: {output_tokens}
temperature: 0
concurrency: [{concurrency}]
repetitions: {repetitions}
seed: 7
"""


@dataclass(frozen=True)
class RunningSystem:
    """A system that is up."""

    home: Path
    state: SystemState
    layout: Layout

    @property
    def api(self) -> Airflow:
        """A client of its Airflow."""
        return Airflow(self.state.airflow_url, Path(self.state.passwords_file))

    def pid(self, service: str) -> int | None:
        """The process of a service, as the supervisor knows it."""
        known = supervise.states(self.layout.supervisor)
        return known[service].pid if known else None


@pytest.fixture(scope="session")
def system_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose system, if a test starts one, has ended without a trace after the session."""
    home = tmp_path_factory.mktemp("system")
    yield home
    down(home, report=lambda _: None)
    assert find_marked(Layout(home).marker) == []


@pytest.fixture
def running_system(system_home: Path) -> RunningSystem:
    """The system of the session, brought up again if the test before ended it (a minute; a second when it runs)."""
    return start_system(system_home)


def start_system(home: Path, *, report: Callable[[str], None] = print) -> RunningSystem:
    """Bring the system of `home` up on ports that no other system uses."""
    layout = Layout(home)
    with pytest.MonkeyPatch.context() as environment:
        # Other tests' servers begin at the default port, and a race for it would end in a foreign server's answers.
        environment.setenv("SPECWATCH_VLLM_PORT", str(choose_port(None, default=VLLM_PORT, variable="a test's port")))
        environment.setenv("SPECWATCH_LOCKS", str(home / "locks"))  # a fake needs no accelerator: wait for nobody
        environment.delenv("COVERAGE_PROCESS_CONFIG", raising=False)  # Airflow under coverage starts in minutes
        state = up(
            home,
            repository=REPOSITORY,
            runs=home / "runs",
            report=report,
            nightly_cron="off",  # Airflow makes up for a night that began in the last two hours
            migrate=migrate_warehouse,
            **_ports(layout),
        )
    return RunningSystem(home=home, state=state, layout=layout)


def fake_matrix(
    directory: Path,
    *,
    token_ms: float = 1.0,
    name: str = "fake",
    prompts: int = 4,
    output_tokens: int = 16,
    concurrency: int = 1,
    repetitions: int = 2,
) -> Path:
    """Write a matrix of one fake engine, baseline and ngram on one workload, and return its path."""
    fake = make_fake_engine(directory / "engine")
    slow = directory / "python"
    slow.write_text(
        f'#!/bin/sh\nexport FAKE_VLLM_TOKEN_MS={token_ms} FAKE_VLLM_SPECULATIVE_STEP_MS={token_ms}\nexec {fake} "$@"\n'
    )
    slow.chmod(0o755)
    path = directory / "matrix.yaml"
    path.write_text(
        MATRIX.format(
            name=name,
            python=slow,
            model=make_fake_model(directory / "model"),
            prompts=prompts,
            output_tokens=output_tokens,
            concurrency=concurrency,
            repetitions=repetitions,
        )
    )
    return path


def wait_for(look: Callable[[], Any], *, within_s: float, what: str, poll_s: float = 0.2) -> Any:
    """Return the first thing that `look` finds; fails after `within_s` seconds, saying what was waited for."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"waited {within_s} s for {what}"
        time.sleep(poll_s)


def _ports(layout: Layout) -> dict[str, int]:
    """Ports for a first start; a system that runs keeps its own."""
    if supervise.states(layout.supervisor) is not None:
        return {}
    taken: set[int] = set()
    for offset in range(3):
        taken.add(choose_port(None, default=FIRST_PORT + 30 * offset, variable="a test's port", taken=frozenset(taken)))
    database, web, board = sorted(taken)
    return {"postgres_port": database, "airflow_port": web, "dashboard_port": board}
