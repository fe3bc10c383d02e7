"""Start the whole system on this machine, or what of it does not run yet, and wait until every part works."""

import importlib.metadata
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

from pipeline.errors import EnvironmentFault
from pipeline.system import postgres, supervise
from pipeline.system.airflow_api import Airflow, ApiError
from pipeline.system.credentials import jwt_secret_file, passwords_file
from pipeline.system.layout import Layout
from pipeline.system.lock import exclusive
from pipeline.system.ports import LOOPBACK, choose_port, serves
from pipeline.system.processes import SYSTEM_VARIABLE, end_marked
from pipeline.system.readiness import signs_of_life
from pipeline.system.services import (
    METADATA_DATABASE,
    POOL,
    POOL_SLOTS,
    WAREHOUSE_DATABASE,
    Probe,
    Service,
    Site,
    central_environment,
    migrations,
    services,
)
from pipeline.system.state import SystemState, read_state, write_state

AIRFLOW_PORT = 28080
DASHBOARD_PORT = 28501
READY_S = 240.0
MIGRATE_S = 300.0
POLL_S = 0.5
AIRFLOW_DISTRIBUTIONS = ("apache-airflow", "apache-airflow-providers-edge3")

Report = Callable[[str], None]
Progress = Callable[[int, int, str], None]  # services ready, services, which one


def up(
    home: Path,
    *,
    repository: Path,
    runs: Path,
    report: Report,
    progress: Progress | None = None,
    warehouse_url: str | None = None,
    postgres_port: int | None = None,
    airflow_port: int | None = None,
    dashboard_port: int | None = None,
    nightly_cron: str = "",
    nightly_timezone: str = "",
    maintenance_cron: str = "",
    backups: str = "",
    usd_per_gpu_hour: str = "",
    migrate: Callable[[str], None] | None = None,
    reader_url: Callable[[], str] | None = None,
    ready_s: float = READY_S,
) -> SystemState:
    """Bring the system of `home` up and return where it is. What already runs is reused.

    Without `warehouse_url` the warehouse lies in the embedded Postgres. `migrate` is given the warehouse's URL before
    anything uses it, and `reader_url` then says by which one pages ask. Raises EnvironmentFault when a port that was
    asked for is taken, or a service is not ready within `ready_s` seconds; what was started then keeps running, for its
    logs, until `down`.
    """
    layout = Layout(home)
    layout.make()
    with exclusive(layout.lock, report=report):
        before = _running(layout, report=report)
        web, board = _ports(before, airflow_port=airflow_port, dashboard_port=dashboard_port)
        report("database")
        server_url = postgres.start(layout.postgres, port=postgres_port)
        warehouse = warehouse_url or postgres.ensure_database(server_url, WAREHOUSE_DATABASE)
        metadata = postgres.ensure_database(server_url, METADATA_DATABASE)
        if migrate is not None:
            migrate(warehouse)
        site = Site(
            python=sys.executable,
            repository=repository,
            home=home,
            runs=runs,
            airflow_home=layout.airflow,
            edge_home=layout.edge,
            logs=layout.logs,
            airflow_port=web,
            dashboard_port=board,
            metadata_url=metadata.replace("postgresql://", "postgresql+psycopg://", 1),
            warehouse_url=warehouse,
            jwt_secret_file=jwt_secret_file(layout.airflow),
            passwords_file=passwords_file(layout.airflow),
            worker_name=socket.gethostname(),
            marker=layout.marker,
            nightly_cron=nightly_cron,
            nightly_timezone=nightly_timezone,
            maintenance_cron=maintenance_cron,
            backups=backups,
            usd_per_gpu_hour=usd_per_gpu_hour,
            warehouse_reader_url=reader_url() if reader_url else "",
        )
        state = _state(site, postgres_port=postgres.status(layout.postgres).port or 0)
        defined = services(site)
        _start(layout, site, defined, report=report)
        write_state(layout.state, state)
        _wait_until_ready(layout, state, defined, report=report, progress=progress, ready_s=ready_s)
        ensure_pool(Airflow(state.airflow_url, Path(state.passwords_file)))
    return state


def ensure_pool(api: Airflow) -> None:
    """Make the pool that the tasks of the GPU queue share: one slot a GPU."""
    pool = {"name": POOL, "slots": POOL_SLOTS, "description": "one slot a GPU", "include_deferred": False}
    try:
        api.send("POST", "pools", pool)
    except ApiError as error:
        if error.status != HTTPStatus.CONFLICT:
            raise


def _running(layout: Layout, *, report: Report) -> SystemState | None:
    """Return the recorded system if its supervisor answers; end what a dead supervisor left behind."""
    if supervise.states(layout.supervisor) is not None:
        return read_state(layout.state)
    end_marked(layout.marker, variables=(SYSTEM_VARIABLE,), report=lambda text: report(f"left over: {text}"))
    return None


def _ports(before: SystemState | None, *, airflow_port: int | None, dashboard_port: int | None) -> tuple[int, int]:
    if before is not None and airflow_port in {None, before.airflow_port}:
        web = before.airflow_port
    else:
        web = choose_port(airflow_port, default=AIRFLOW_PORT, variable="SPECWATCH_AIRFLOW_PORT")
    if before is not None and dashboard_port in {None, before.dashboard_port}:
        return web, before.dashboard_port
    taken = frozenset({web})
    variable = "SPECWATCH_DASHBOARD_PORT"
    return web, choose_port(dashboard_port, default=DASHBOARD_PORT, variable=variable, taken=taken)


def _state(site: Site, *, postgres_port: int) -> SystemState:
    return SystemState(
        home=str(site.home),
        marker=site.marker,
        airflow_url=site.airflow_url,
        airflow_port=site.airflow_port,
        dashboard_url=f"http://{LOOPBACK}:{site.dashboard_port}",
        dashboard_port=site.dashboard_port,
        postgres_port=postgres_port,
        metadata_url=str(site.metadata_url),
        warehouse_url=str(site.warehouse_url),
        passwords_file=str(site.passwords_file),
        worker_name=site.worker_name,
    )


def _start(layout: Layout, site: Site, defined: tuple[Service, ...], *, report: Report) -> None:
    supervisor = layout.supervisor
    text = supervise.configuration(supervisor, defined, directory=site.repository)
    known = supervise.states(supervisor)
    if known is not None and supervise.is_current(supervisor, text):
        for name, process in known.items():
            if process.state in {"STOPPED", "EXITED", "FATAL"}:
                report(f"{name}: starting again")
                supervise.start_service(supervisor, name)
        return
    if known is not None:
        report("settings changed: restarting the services")
        supervise.shut_down(supervisor)
        end_marked(layout.marker, variables=(SYSTEM_VARIABLE,), grace_s=30.0)
    _migrate_airflow(site, cluster=_cluster(layout), report=report)
    report(f"starting {', '.join(service.name for service in defined)}")
    supervise.start(supervisor, text)


def _cluster(layout: Layout) -> str:
    """Return what tells this database cluster from one that was made anew in its place."""
    return str((layout.postgres / "PG_VERSION").stat().st_mtime_ns)


def _migrate_airflow(site: Site, *, cluster: str, report: Report) -> None:
    """Migrate Airflow's tables; `cluster` and the installed releases say whether that was done already."""
    done = site.airflow_home / "migrated"
    versions = " ".join(importlib.metadata.version(name) for name in AIRFLOW_DISTRIBUTIONS)
    wanted = f"{cluster} {versions}\n"
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return
    report("Airflow's own tables")
    log = site.logs / "airflow-migrate.log"
    with log.open("w", encoding="utf-8") as output:
        finished = subprocess.run(
            migrations(site)[0],
            env=supervise.inherited_environment(site.marker) | central_environment(site),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=MIGRATE_S,
            check=False,
        )
    if finished.returncode != 0:
        message = f"Airflow could not migrate its database:\n{_tail(log)}\nThe whole log: {log}"
        raise EnvironmentFault(message)
    done.write_text(wanted, encoding="utf-8")


def _wait_until_ready(
    layout: Layout,
    state: SystemState,
    defined: tuple[Service, ...],
    *,
    report: Report,
    progress: Progress | None,
    ready_s: float,
) -> None:
    api = Airflow(state.airflow_url, Path(state.passwords_file), timeout_s=5.0)
    ports: dict[Probe, int] = {"api": state.airflow_port, "dashboard": state.dashboard_port}
    began = time.monotonic()
    waiting = {service.name: service for service in defined}
    while waiting:
        known = supervise.states(layout.supervisor)
        if known is None:
            message = f"the process supervisor ended. Its log: {layout.logs / 'supervisord.log'}"
            raise EnvironmentFault(message)
        signs = signs_of_life(api, dashboard_url=state.dashboard_url, worker_name=state.worker_name)
        for name, service in list(waiting.items()):
            started, port = known[name].started_at, ports.get(service.ready)
            alive = started is not None and signs.get(service.ready, 0.0) >= started
            if alive and (port is None or serves(known[name].pid, port)):
                report(f"{name}: ready after {time.monotonic() - began:.0f} s")
                del waiting[name]
                if progress is not None:
                    progress(len(defined) - len(waiting), len(defined), name)
        _give_up(layout, waiting, known, late=time.monotonic() - began > ready_s)
        if waiting:
            time.sleep(POLL_S)


def _give_up(
    layout: Layout, waiting: dict[str, Service], known: dict[str, supervise.ProcessState], *, late: bool
) -> None:
    for name in waiting:
        if late or known[name].state == "FATAL":
            log = layout.logs / f"{name}.log"
            message = f"{name} did not become ready ({known[name].detail}):\n{_tail(log)}\nThe whole log: {log}"
            raise EnvironmentFault(message)


def _tail(log: Path, *, lines: int = 12) -> str:
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"
