"""A home of its own for every end-to-end test, a migrated warehouse, and a sweep that was measured already."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline import steps
from tests.support.fake_matrix import make_fake_matrix
from tests.support.worker_port import worker_port

SHARED = {"measured", "analyzed"}
UNSET = ("SPECWATCH_START_TIMEOUT_S", "WAREHOUSE_URL", "WAREHOUSE_URL_FILE", "SPECWATCH_REQUEST_TIMEOUT_S")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share what took seconds to measure in one worker."""
    for item in items:
        for shared in SHARED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(shared))


def quiet(_text: str) -> None:
    """Report nothing."""


def set_home(environment: pytest.MonkeyPatch, directory: Path) -> Path:
    """Point every setting below `directory`; return the home there."""
    for name in UNSET:
        environment.delenv(name, raising=False)
    environment.setenv("SPECWATCH_HOME", str(directory / "home"))
    environment.setenv("SPECWATCH_RUNS", str(directory / "home" / "runs"))
    environment.setenv("SPECWATCH_LOCKS", str(directory / "locks"))
    environment.setenv("SPECWATCH_VLLM_PORT", str(worker_port()))
    return directory / "home"


def sweep(matrix: Path) -> dict[str, Any]:
    """Plan, prepare and bench; return the plan."""
    plan = steps.plan_sweep(str(matrix), trigger="test")
    for block in plan["blocks"]:
        steps.prepare_block(block, report=quiet)
        steps.bench_block(block, report=quiet, watch_ancestors=False)
    return plan


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Path:
    """Point every setting at this test's directory and database."""
    path = set_home(monkeypatch, tmp_path)
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    return path


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """A matrix of this test on the fake vLLM."""
    return make_fake_matrix(tmp_path)


@dataclass(frozen=True)
class Measured:
    """A sweep without a fault, as the fake vLLM left it. Nobody writes into it."""

    plan: dict[str, Any]
    runs: Path

    def copied(self, runs: Path) -> dict[str, Any]:
        """Copy the run directories to `runs`; return the plan with the paths there."""
        shutil.copytree(self.runs, runs)

        def moved(path: str) -> str:
            return str(runs / Path(path).relative_to(self.runs))

        blocks = [moved(block) for block in self.plan["blocks"]]
        return self.plan | {"sweep_dir": moved(self.plan["sweep_dir"]), "blocks": blocks}


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Measure once for all tests that only read what a sweep leaves."""
    directory = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as environment:
        home = set_home(environment, directory)
        plan = sweep(make_fake_matrix(directory))
    return Measured(plan, home / "runs")


@pytest.fixture
def plan(measured: Measured, home: Path) -> dict[str, Any]:
    """The plan of a sweep that was measured already, its run directories in this test's home."""
    return measured.copied(home / "runs")
