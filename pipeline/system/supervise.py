"""supervisord keeps the services running: its configuration, its start, and what it knows of each service."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
import xmlrpc.client
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import EnvironmentFault, UserError
from pipeline.system.processes import SYSTEM_VARIABLE
from pipeline.system.services import Service

START_S = 15.0  # until supervisord answers on its socket
_TOLD_APART = ("AIRFLOW", "WAREHOUSE_", "DATABASE_URL")  # a service knows the databases that it is told


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The supervisor of one home."""

    run: Path  # <home>/run
    logs: Path
    marker: str

    @property
    def config(self) -> Path:
        """The generated configuration."""
        return self.run / "supervisord.conf"

    @property
    def pid_file(self) -> Path:
        """Written by supervisord once it runs."""
        return self.run / "supervisord.pid"

    @property
    def socket(self) -> Path:
        """The control socket: a Unix socket's path may hold 108 bytes, which a home can exceed."""
        return Path(tempfile.gettempdir()) / f"specwatch-{os.getuid()}-{self.marker}" / "supervisor.sock"


@dataclass(frozen=True, slots=True)
class ProcessState:
    """What supervisord says of one service; `state` in its own words (RUNNING, BACKOFF, FATAL, ...)."""

    name: str
    state: str
    pid: int | None
    started_at: int | None  # seconds since the epoch; None when it does not run
    detail: str


def configuration(supervisor: Supervisor, services: tuple[Service, ...], *, directory: Path) -> str:
    """Return supervisord's configuration: everything restarts by itself, logs rotate, groups end together."""
    sections = [
        f"[unix_http_server]\nfile={_plain(supervisor.socket)}\nchmod=0600",
        (
            f"[supervisord]\nnodaemon=false\nlogfile={_plain(supervisor.logs / 'supervisord.log')}\n"
            f"logfile_maxbytes=5MB\nlogfile_backups=2\npidfile={_plain(supervisor.pid_file)}\n"
            f"directory={_plain(directory)}\nidentifier=specwatch"
        ),
        f"[supervisorctl]\nserverurl=unix://{_plain(supervisor.socket)}",
        "[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface",
    ]
    sections += [_program(service, supervisor=supervisor, order=order) for order, service in enumerate(services)]
    return "\n\n".join(sections) + "\n"


def start(supervisor: Supervisor, text: str) -> None:
    """Write the configuration `text` and start supervisord with it. Raises EnvironmentFault if it does not come up."""
    supervisor.socket.parent.mkdir(mode=0o700, exist_ok=True)
    supervisor.socket.parent.chmod(0o700)
    supervisor.socket.unlink(missing_ok=True)
    supervisor.config.touch(mode=0o600)
    supervisor.config.write_text(text, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "supervisor.supervisord", "-c", str(supervisor.config)],
        env=inherited_environment(supervisor.marker),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )
    deadline = time.monotonic() + START_S
    while states(supervisor) is None:
        if finished.returncode != 0 or time.monotonic() > deadline:
            reason = (finished.stderr or finished.stdout).strip()[-500:]
            message = f"the process supervisor did not start: {reason or 'no answer'}. See {supervisor.logs}."
            raise EnvironmentFault(message)
        time.sleep(0.05)


def inherited_environment(marker: str) -> dict[str, str]:
    """Return what all services inherit: the person's environment (proxies, package index, tokens) without databases.

    The edge worker inherits it too, and another Airflow's settings must not leak in.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_TOLD_APART)}
    return kept | {SYSTEM_VARIABLE: marker, "SPT_NOENV": "1"}


def is_current(supervisor: Supervisor, text: str) -> bool:
    """Return whether the configuration on disk is `text`."""
    try:
        return supervisor.config.read_text(encoding="utf-8") == text
    except OSError:
        return False


def states(supervisor: Supervisor) -> dict[str, ProcessState] | None:
    """Return the state of each service by name, or None when no supervisord answers."""
    try:
        with _rpc(supervisor) as rpc:
            answer = rpc.supervisor.getAllProcessInfo()
    except (OSError, xmlrpc.client.Error):
        return None
    return {info["name"]: _state(info) for info in _objects(answer)}


def start_service(supervisor: Supervisor, name: str) -> None:
    """Start one service that has stopped or given up; does not wait for it."""
    with _rpc(supervisor) as rpc:
        rpc.supervisor.startProcess(name, False)  # noqa: FBT003 - XML-RPC knows no names: do not wait


def stop_service(supervisor: Supervisor, name: str, *, wait: bool) -> None:
    """Stop one service, and `wait` until it has ended; nothing happens if it does not run."""
    try:
        with _rpc(supervisor) as rpc:
            rpc.supervisor.stopProcess(name, wait)
    except xmlrpc.client.Fault:  # not running
        return
    except (OSError, xmlrpc.client.ProtocolError):  # the supervisor is gone; the marker scan does the rest
        return


def shut_down(supervisor: Supervisor) -> None:
    """Ask supervisord to end itself with whatever it still runs."""
    try:
        with _rpc(supervisor) as rpc:
            rpc.supervisor.shutdown()
    except (OSError, xmlrpc.client.Error):
        return


def _program(service: Service, *, supervisor: Supervisor, order: int) -> str:
    lines = {
        "command": shlex.join(service.argv).replace("%", "%%"),
        "environment": ",".join(f"{name}={_quoted(value)}" for name, value in sorted(service.environment.items())),
        "priority": str(100 + order),
        "autostart": "true",
        "autorestart": "true",
        # A restarted edge worker is refused until its old name expires: each attempt waits a second longer.
        "startsecs": "8",
        "startretries": "30",
        "stopsignal": "TERM",
        "stopwaitsecs": str(service.stop_s),
        "stopasgroup": "true",
        "killasgroup": "true",
        "redirect_stderr": "true",
        "stdout_logfile": _plain(supervisor.logs / f"{service.name}.log"),
        "stdout_logfile_maxbytes": "10MB",
        "stdout_logfile_backups": "2",
    }
    body = "\n".join(f"{key}={value}" for key, value in lines.items())
    return f"[program:{service.name}]\n{body}"


def _quoted(value: str) -> str:
    """Quote for supervisord's `environment`: both quotes, no escape, and it strips any quote at either end."""
    quote = "'" if '"' in value else '"'
    if quote in value or "\n" in value or value != value.strip("'\""):
        message = (
            f"a service cannot be told {value!r}: quotes at an end, both kinds, or a line break. Use a plainer path."
        )
        raise UserError(message)
    return quote + value.replace("%", "%%") + quote


def _plain(path: Path) -> str:
    return str(path).replace("%", "%%")


def _rpc(supervisor: Supervisor) -> xmlrpc.client.ServerProxy:
    # Only where services are started by it: in a container nothing of it is installed.
    from supervisor.xmlrpc import SupervisorTransport

    transport = SupervisorTransport(serverurl=f"unix://{supervisor.socket}")
    return xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)


def _objects(answer: object) -> list[dict[str, Any]]:
    return [item for item in answer if isinstance(item, dict)] if isinstance(answer, list) else []


def _state(info: dict[str, Any]) -> ProcessState:
    running = bool(info["pid"])
    return ProcessState(
        name=info["name"],
        state=info["statename"],
        pid=info["pid"] or None,
        started_at=info["start"] if running else None,
        detail=info["spawnerr"] or info["description"],
    )
