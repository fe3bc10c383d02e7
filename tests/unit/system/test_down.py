"""In which order `down` ends things, and what it says of what stays. Nothing runs here."""

from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.system import down as module
from pipeline.system import postgres, supervise
from pipeline.system.down import down
from pipeline.system.layout import Layout
from pipeline.system.processes import Marked
from pipeline.system.supervise import ProcessState, Supervisor

ORDER = ("api-server", "scheduler", "edge-worker", "dashboard")


class Services:
    """A supervisor's services: asked to stop, one ends at once if that is waited for, otherwise at the next look."""

    def __init__(self) -> None:
        self.alive = dict.fromkeys(ORDER, True)
        self.asked: list[str] = []

    def states(self, _: Supervisor) -> dict[str, ProcessState]:
        found = {
            name: ProcessState(name, "RUNNING" if alive else "STOPPED", 7 if alive else None, None, "")
            for name, alive in self.alive.items()
        }
        self.alive = {name: alive and name not in self.asked for name, alive in self.alive.items()}
        return found

    def stop(self, _: Supervisor, name: str, *, wait: bool) -> None:
        self.asked.append(f"{name}, waited for" if wait else name)
        self.alive[name] = self.alive[name] and not wait


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Services:
    services = Services()
    monkeypatch.setattr(supervise, "states", services.states)
    monkeypatch.setattr(supervise, "stop_service", services.stop)
    monkeypatch.setattr(supervise, "shut_down", lambda _: services.asked.append("supervisor"))
    monkeypatch.setattr(module, "end_marked", lambda *_, **__: [])
    monkeypatch.setattr(module, "POLL_S", 0)
    monkeypatch.setattr(postgres, "stop", lambda _: services.asked.append("database") is None)
    return services


@pytest.fixture
def home(tmp_path: Path) -> Path:
    Layout(tmp_path).make()
    return tmp_path


def test_the_edge_worker_goes_first_while_there_is_someone_to_tell_and_the_database_last(
    home: Path, services: Services
) -> None:
    said: list[str] = []
    down(home, report=said.append)
    assert services.asked == [
        "edge-worker, waited for",
        "scheduler, waited for",
        *ORDER,
        "supervisor",
        "database",
    ]
    assert said[-1] == "database stopped"


def test_a_service_that_was_never_there_is_not_asked(home: Path, services: Services) -> None:
    del services.alive["edge-worker"]
    down(home, report=lambda _: None)
    assert not any("edge-worker" in asked for asked in services.asked)


def test_services_that_do_not_stop_in_time_are_left_to_the_supervisor_and_the_marker(
    home: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_S", 0.0)
    down(home, report=lambda _: None)
    assert services.asked[-2:] == ["supervisor", "database"]


def test_what_does_not_end_is_named_with_its_number(
    home: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Marked(pid=4711, started=1, command="vllm serve")
    monkeypatch.setattr(module, "end_marked", lambda *_, **__: [stuck])
    with pytest.raises(EnvironmentFault, match=r"did not end: 4711 vllm serve\. End them with: kill -9 PID"):
        down(home, report=lambda _: None)
    assert services.asked[-1] == "database"  # all the same
