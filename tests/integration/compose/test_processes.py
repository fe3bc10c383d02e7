"""Every service of docker-compose.yml starts as a plain process with its own environment, and together they measure."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.system.airflow_api import FINAL_RUN_STATES, Airflow, result, trigger
from pipeline.system.readiness import signs_of_life
from tests.support.compose_stack import Stack, compose_stack
from tests.support.system import fake_matrix, wait_for

pytestmark = [pytest.mark.system, pytest.mark.timeout(400)]

SERVICES = ("api-server", "scheduler", "dag-processor", "triggerer", "dashboard", "edge-worker")
PROBES = {"api", "scheduler", "dag_processor", "triggerer", "dashboard", "edge"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, migrated (twice: compose runs it at every `up`) and started."""
    with compose_stack(tmp_path_factory.mktemp("compose")) as made:
        for _ in range(2):
            migrated = made.run("migrations", made.service("migrations")["command"])
            assert migrated.returncode == 0, migrated.stdout + migrated.stderr
        for name in SERVICES:
            made.start(name)
        yield made


@pytest.fixture(scope="module")
def api(stack: Stack) -> Airflow:
    """Its Airflow, once every service has shown that it works since now."""
    api = Airflow(f"http://127.0.0.1:{stack.web}", stack.root / "home" / "airflow" / "passwords.json")
    began = time.time()

    def everyone_works() -> bool:
        for name, process in stack.running.items():
            assert process.poll() is None, stack.log(name)
        signs = signs_of_life(api, dashboard_url=f"http://127.0.0.1:{stack.board}", worker_name="blackwell-0")
        return {name for name, sign in signs.items() if sign >= began} == PROBES

    wait_for(everyone_works, within_s=180, what="every service to work")
    return api


def test_the_health_checks_pass(stack: Stack, api: Airflow) -> None:
    for name in SERVICES:
        if "healthcheck" in stack.service(name):
            kind, *argv = stack.service(name)["healthcheck"]["test"]
            checked = stack.run(name, argv)
            assert (kind, checked.returncode) == ("CMD", 0), (name, checked.stderr)


def test_the_password_is_the_one_of_the_secret(stack: Stack, api: Airflow) -> None:
    made = json.loads((stack.secrets / "airflow_passwords").read_text())

    assert json.loads((stack.root / "home" / "airflow" / "passwords.json").read_text()) == made
    assert [pool["slots"] for pool in api.get("pools")["pools"] if pool["name"] == "gpu"] == [1]


def test_the_edge_worker_holds_no_database_credential(stack: Stack, api: Airflow) -> None:
    environment = Path(f"/proc/{stack.running['edge-worker'].pid}/environ").read_bytes().decode()

    assert "postgres" not in environment
    assert "WAREHOUSE" not in environment
    assert "SQL_ALCHEMY" not in environment


def test_what_the_images_install_is_enough_to_measure_and_publish(stack: Stack, api: Airflow, tmp_path: Path) -> None:
    run_id = trigger(api, "nightly_matrix", conf={"matrix": str(fake_matrix(tmp_path))})

    ended = wait_for(
        lambda: (now := result(api, "nightly_matrix", run_id)).state in FINAL_RUN_STATES and now,
        within_s=180,
        what="the run to end",
    )

    assert ended.state == "success", [(task.name, task.state) for task in ended.tasks]
