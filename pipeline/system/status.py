"""What runs: every service with its state, process, port and address. Quick, and changes nothing."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pipeline.system import postgres, supervise
from pipeline.system.airflow_api import Airflow
from pipeline.system.layout import Layout
from pipeline.system.processes import find_marked
from pipeline.system.readiness import signs_of_life
from pipeline.system.services import Probe
from pipeline.system.state import SystemState, read_state

TIMEOUT_S = 0.4
PROBES: dict[str, Probe] = {
    "api-server": "api",
    "scheduler": "scheduler",
    "dag-processor": "dag_processor",
    "triggerer": "triggerer",
    "edge-worker": "edge",
    "dashboard": "dashboard",
}

Word = Literal["ready", "starting", "restarting", "stopped", "failed"]
_WORDS: dict[str, Word] = {
    "BACKOFF": "restarting",
    "STOPPED": "stopped",
    "STOPPING": "stopped",
    "EXITED": "stopped",
    "FATAL": "failed",
}


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One service. `starting`: its process runs and has not yet shown that it works."""

    name: str
    state: Word
    pid: int | None
    port: int | None
    url: str | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SystemStatus:
    """The system of one home. `strays`: processes of ours that no supervisor looks after."""

    home: str
    services: tuple[ServiceStatus, ...]
    strays: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether every service works."""
        return all(service.state == "ready" for service in self.services)

    def as_json(self) -> dict[str, Any]:
        """Return the status as a JSON object."""
        return {"ready": self.ready} | asdict(self)


def status(home: Path) -> SystemStatus:
    """Return what runs of the system of `home`, within a second."""
    layout = Layout(home)
    state = read_state(layout.state)
    known = supervise.states(layout.supervisor)
    signs = _signs(state) if known is not None else {}
    services = [_database(layout)]
    for name, probe in PROBES.items():
        process = known.get(name) if known else None
        services.append(_service(name, process, sign=signs.get(probe), state=state))
    strays = find_marked(layout.marker) if known is None else []
    return SystemStatus(
        home=str(home),
        services=tuple(services),
        strays=tuple(f"{process.pid} {process.command}" for process in strays),
    )


def _signs(state: SystemState | None) -> dict[Probe, float]:
    if state is None:
        return {}
    api = Airflow(state.airflow_url, Path(state.passwords_file), timeout_s=TIMEOUT_S)
    return signs_of_life(api, dashboard_url=state.dashboard_url, worker_name=state.worker_name, timeout_s=TIMEOUT_S)


def _database(layout: Layout) -> ServiceStatus:
    found = postgres.status(layout.postgres)
    word: Word = "ready" if found.running else "stopped"
    return ServiceStatus("postgres", word, pid=found.pid, port=found.port, url=None)


def _service(
    name: str, process: supervise.ProcessState | None, *, sign: float | None, state: SystemState | None
) -> ServiceStatus:
    port, url = _address(name, state)
    if process is None:
        return ServiceStatus(name, "stopped", pid=None, port=port, url=url)
    word = _WORDS.get(process.state, "starting")
    if process.pid is not None and process.started_at is not None and (sign or 0.0) >= process.started_at:
        word = "ready"
    return ServiceStatus(name, word, pid=process.pid, port=port, url=url, detail=process.detail)


def _address(name: str, state: SystemState | None) -> tuple[int | None, str | None]:
    if state is None:
        return None, None
    known = {
        "api-server": (state.airflow_port, state.airflow_url),
        "dashboard": (state.dashboard_port, state.dashboard_url),
    }
    return known.get(name, (None, None))
