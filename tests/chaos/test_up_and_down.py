"""`up`, `status` and `down` on the real system, also after its supervisor was killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault, UserError
from pipeline.system.airflow_api import Airflow, trigger
from pipeline.system.down import down
from pipeline.system.processes import SYSTEM_VARIABLE, find_marked
from pipeline.system.status import status
from tests.support.system import RunningSystem, start_system

pytestmark = [pytest.mark.system, pytest.mark.timeout(400)]

SERVICES = ["postgres", "api-server", "scheduler", "dag-processor", "triggerer", "edge-worker", "dashboard"]


@pytest.fixture
def foreigner() -> Iterator[subprocess.Popen[bytes]]:
    """A process of another home: it carries our variable with another value."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, SYSTEM_VARIABLE: "another-home"}
    )
    yield process
    process.kill()
    process.wait()


def test_a_second_up_keeps_every_process(running_system: RunningSystem) -> None:
    before = {service.name: service.pid for service in status(running_system.home).services}

    again = start_system(running_system.home)

    assert again.state == running_system.state
    assert {service.name: service.pid for service in status(running_system.home).services} == before


def test_status_names_every_service(running_system: RunningSystem) -> None:
    found = status(running_system.home)

    assert [service.name for service in found.services] == SERVICES
    assert found.ready, found
    assert found.as_json()["ready"] is True


def test_the_gpu_box_knows_no_database(running_system: RunningSystem) -> None:
    pid = running_system.pid("edge-worker")

    environment = Path(f"/proc/{pid}/environ").read_bytes().decode()

    assert "postgresql" not in environment
    assert "WAREHOUSE_URL" not in environment


@pytest.mark.parametrize(
    ("dag_id", "conf", "said"),
    [
        ("adhoc_matrix", {"repetitions": 0}, "repetitions"),
        ("adhoc_matrix", {"methods": "ngram"}, "methods"),
        ("adhoc_matrix", {"matrix": "matrices/none-such.yaml"}, "matrix"),
        ("nightly_matrix", {"matrix": "smoke.json"}, "matrix"),
        ("nightly_matrix", {"matrx": "matrices/smoke.yaml"}, "matrx"),
    ],
)
def test_wrong_parameters_are_refused_with_their_name(
    running_system: RunningSystem, dag_id: str, conf: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        trigger(running_system.api, dag_id, conf=conf)


def test_a_dead_api_server_says_how_to_start_it(running_system: RunningSystem) -> None:
    api = Airflow("http://127.0.0.1:29999", Path(running_system.state.passwords_file))

    with pytest.raises(EnvironmentFault, match="specwatch up"):
        trigger(api, "nightly_matrix", conf={})


def test_down_ends_everything_after_the_supervisor_was_killed(
    running_system: RunningSystem, foreigner: subprocess.Popen[bytes]
) -> None:
    supervisor = int(running_system.layout.supervisor.pid_file.read_text())
    os.kill(supervisor, signal.SIGKILL)
    assert len(find_marked(running_system.state.marker)) >= len(SERVICES) - 1

    down(running_system.home, report=print)

    assert find_marked(running_system.state.marker) == []
    assert foreigner.poll() is None
    assert [service.state for service in status(running_system.home).services] == ["stopped"] * len(SERVICES)


def test_down_twice_is_no_error(system_home: Path) -> None:
    down(system_home, report=print)
    down(system_home, report=print)
