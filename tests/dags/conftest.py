"""Airflow for DAG tests: a home and a SQLite database of their own, always in another process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.settings import REPOSITORY

HERE = Path(__file__).parent
TIMEOUT_S = 300
WITHHELD = ("AIRFLOW", "WAREHOUSE", "COVERAGE")  # Airflow under coverage takes twice as long, and ends without saving
Airflow = Callable[..., dict[str, Any]]


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep these tests in one worker, that of whole systems: one Airflow database, and never two Airflows at once."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("whole-system"))


@pytest.fixture(scope="session")
def airflow_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an Airflow that nobody else uses."""
    home = tmp_path_factory.mktemp("airflow")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(WITHHELD)}
    return kept | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor,EdgeExecutor:airflow.providers.edge3.executors.EdgeExecutor",
    }


def call(arguments: list[str], *, environment: dict[str, str]) -> str:
    """Run Python with `arguments` and return what it printed; its errors are shown when it fails."""
    finished = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-5000:]
    return finished.stdout


def read_under(settings: dict[str, dict[str, str]], program: str, *, environment: dict[str, str]) -> dict[str, Any]:
    """Return what `program` says of a DAG file under each of `settings`: Airflow is imported once for all."""
    bare = {name: value for name, value in environment.items() if not name.startswith("SPECWATCH_")}
    arguments = ["-W", "ignore", "-c", program, str(REPOSITORY / "dags"), json.dumps(settings)]
    output = call(arguments, environment=bare | {"TZ": os.environ.get("TZ", "UTC")})
    return dict(json.loads(output.strip().splitlines()[-1]))


@pytest.fixture(scope="session")
def described(airflow_environment: dict[str, str]) -> dict[str, Any]:
    """What the DAG files define."""
    output = call(["-m", "tests.support.dag_process", "describe"], environment=airflow_environment)
    return dict(json.loads(output.strip().splitlines()[-1]))


@pytest.fixture(scope="session")
def migrated(airflow_environment: dict[str, str]) -> dict[str, str]:
    """The same environment, with Airflow's tables."""
    call(["-m", "airflow", "db", "migrate"], environment=airflow_environment)
    return airflow_environment


@pytest.fixture
def run_dag(migrated: dict[str, str], tmp_path: Path, database_url: str) -> Airflow:
    """Run a DAG to its end on an empty warehouse and an empty home."""

    def run(dag_id: str, **conf: Any) -> dict[str, Any]:
        environment = migrated | {
            "SPECWATCH_HOME": str(tmp_path / "home"),
            "SPECWATCH_LOCKS": str(tmp_path / "locks"),
            "WAREHOUSE_URL": database_url,
        }
        arguments = ["-m", "tests.support.dag_process", "run", dag_id, json.dumps(conf)]
        return dict(json.loads(call(arguments, environment=environment).strip().splitlines()[-1]))

    return run
