"""Every service of the system in one place: what is run, with which environment, and how it is seen to be ready."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.system.processes import SYSTEM_VARIABLE

QUEUE = "blackwell"
POOL = "gpu"
POOL_SLOTS = 1  # one a GPU
ADMIN = "admin"
METADATA_DATABASE = "airflow"
WAREHOUSE_DATABASE = "specwatch"
HEARTBEAT_S = 5  # the name of a killed edge worker is refused for five of these

Probe = Literal["api", "scheduler", "dag_processor", "triggerer", "edge", "dashboard"]


@dataclass(frozen=True, slots=True)
class Site:
    """Where the system runs. Addresses are as its clients reach them; `bind` is what servers listen on."""

    python: str
    repository: Path
    home: Path
    runs: Path
    airflow_home: Path
    edge_home: Path  # the edge worker's own AIRFLOW_HOME: it shares nothing with the other services but HTTP
    logs: Path
    airflow_port: int
    dashboard_port: int
    metadata_url: str | Path  # of Airflow's database; a path: of the file that holds it
    warehouse_url: str | Path
    jwt_secret_file: Path
    passwords_file: Path
    worker_name: str
    marker: str
    nightly_cron: str = ""  # when nightly_matrix runs by itself; empty: as its file says; "off": never
    nightly_timezone: str = ""
    maintenance_cron: str = ""  # the same of maintenance
    backups: str = ""  # where maintenance writes the warehouse to; empty: nowhere
    usd_per_gpu_hour: str = ""  # empty: not stated
    bind: str = "127.0.0.1"
    airflow_host: str = "127.0.0.1"
    warehouse_reader_url: str | Path = ""  # what pages ask; empty: they ask as the others do
    browser_url: str = ""  # of the api-server as a person's browser reaches it; empty: as everyone does

    @property
    def airflow_url(self) -> str:
        """Base address of the api-server."""
        return f"http://{self.airflow_host}:{self.airflow_port}"


@dataclass(frozen=True, slots=True)
class Service:
    """One process. `stop_s`: how long it may take to stop before it is killed, in seconds."""

    name: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    ready: Probe
    stop_s: int = 10


def services(site: Site) -> tuple[Service, ...]:
    """Return the services of `site`, in the order in which they are started."""
    airflow = (site.python, "-m", "airflow")
    central = central_environment(site)
    return (
        Service(
            "api-server",
            (*airflow, "api-server", "--host", site.bind, "--port", str(site.airflow_port), "--workers", "1"),
            central,
            ready="api",
            stop_s=5,  # once its work is done it can hang; everything it knows is in the database
        ),
        # The log servers of scheduler and triggerer would listen on every interface; all share one log folder anyway.
        Service("scheduler", (*airflow, "scheduler", "--skip-serve-logs"), central, ready="scheduler", stop_s=20),
        Service("dag-processor", (*airflow, "dag-processor"), central, ready="dag_processor"),
        Service("triggerer", (*airflow, "triggerer", "--skip-serve-logs"), central, ready="triggerer"),
        Service(
            "edge-worker",
            (*airflow, "edge", "worker", "-q", QUEUE, "-c", "1", "--edge-hostname", site.worker_name),
            edge_environment(site),
            ready="edge",
            stop_s=20,
        ),
        Service("dashboard", _dashboard_argv(site), dashboard_environment(site), ready="dashboard"),
    )


def migrations(site: Site) -> tuple[tuple[str, ...], ...]:
    """Return the commands that make both databases ready for this release; twice changes nothing."""
    return (
        (site.python, "-m", "airflow", "db", "migrate"),
        (site.python, "-m", "pipeline.cli", "db", "migrate"),
    )


def common_environment(site: Site) -> dict[str, str]:
    """Return what every service is told: where things lie, and the marker (SPT_NOENV keeps it readable in /proc)."""
    return {
        SYSTEM_VARIABLE: site.marker,
        "SPT_NOENV": "1",
        "SPECWATCH_HOME": str(site.home),
        "SPECWATCH_RUNS": str(site.runs),
        "PYTHONUNBUFFERED": "1",
    }


def airflow_environment(site: Site) -> dict[str, str]:
    """Return the settings that the central services and the edge worker must have alike. No database is named."""
    return common_environment(site) | {
        "AIRFLOW__CORE__DAGS_FOLDER": str(site.repository / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor,EdgeExecutor:airflow.providers.edge3.executors.EdgeExecutor",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{site.airflow_url}/execution/",
        "AIRFLOW__API__BASE_URL": site.browser_url or site.airflow_url,
        **_airflow_setting("AIRFLOW__API_AUTH__JWT_SECRET", site.jwt_secret_file),
        "AIRFLOW__EDGE__API_ENABLED": "True",
        "AIRFLOW__EDGE__API_URL": f"{site.airflow_url}/edge_worker/v1/rpcapi",
        "AIRFLOW__EDGE__HEARTBEAT_INTERVAL": str(HEARTBEAT_S),
        "AIRFLOW__EDGE__JOB_POLL_INTERVAL": "1",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
        # A task's supervisor can miss the end of its task and then sleeps this long: 5 s a task by default.
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
        "AIRFLOW__WORKERS__MAX_FAILED_HEARTBEATS": "8",
        "AIRFLOW__WORKERS__SOCKET_CLEANUP_TIMEOUT": "5",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }


def central_environment(site: Site) -> dict[str, str]:
    """Return the environment of api-server, scheduler (and its tasks), dag-processor and triggerer."""
    return airflow_environment(site) | {
        "AIRFLOW_HOME": str(site.airflow_home),
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(site.logs / "airflow"),
        "AIRFLOW__LOGGING__DAG_PROCESSOR_CHILD_PROCESS_LOG_DIRECTORY": str(site.logs / "dag-processor"),
        **_airflow_setting("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", site.metadata_url),
        # Unset, Airflow would want asyncpg; psycopg speaks both.
        **_airflow_setting("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC", site.metadata_url),
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{ADMIN}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(site.passwords_file),
        # Measured cells share the cores with these services on a machine without a GPU: they idle, not spin.
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
        "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "30",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        **_warehouse_setting(site.warehouse_url),
        "SPECWATCH_NIGHTLY_CRON": site.nightly_cron,
        "SPECWATCH_NIGHTLY_TIMEZONE": site.nightly_timezone,
        "SPECWATCH_MAINTENANCE_CRON": site.maintenance_cron,
        "SPECWATCH_BACKUPS": site.backups,
        "SPECWATCH_USD_PER_GPU_HOUR": site.usd_per_gpu_hour,
    }


def edge_environment(site: Site) -> dict[str, str]:
    """Return the environment of the GPU box: HTTP to the api-server, and no database at all."""
    return airflow_environment(site) | {
        "AIRFLOW_HOME": str(site.edge_home),
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(site.logs / "edge"),
        # An api-server that restarts is back in half a minute: look often, and longer than that.
        "AIRFLOW__EDGE__API_RETRIES": "60",
        "AIRFLOW__EDGE__API_RETRY_WAIT_MAX": "2",
    }


def dashboard_environment(site: Site) -> dict[str, str]:
    """Return the environment of the dashboard: the warehouse, to be read, and nothing sent to anyone."""
    reader = site.warehouse_reader_url
    asked = (
        _warehouse_setting(reader, name="WAREHOUSE_READER_URL") if reader else _warehouse_setting(site.warehouse_url)
    )
    return common_environment(site) | {
        **asked,
        "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
        "STREAMLIT_SERVER_HEADLESS": "true",
        "STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none",
    }


def _airflow_setting(name: str, value: str | Path) -> dict[str, str]:
    """Return how Airflow is told `value`, or to read it from a file: a secret need not be in an environment."""
    if isinstance(value, str):
        return {name: value}
    # awk, because Airflow keeps the line break that an editor leaves at a file's end. supervisord strips quotes at a
    # value's end, and a path with a space needs them: so it is not at the end.
    return {f"{name}_CMD": shlex.join(("awk", "1", "ORS=", str(value), "/dev/null"))}


def _warehouse_setting(value: str | Path, *, name: str = "WAREHOUSE_URL") -> dict[str, str]:
    return {name: value} if isinstance(value, str) else {f"{name}_FILE": str(value)}


def _dashboard_argv(site: Site) -> tuple[str, ...]:
    app = str(site.repository / "dashboard" / "app.py")
    listen = ("--server.address", site.bind, "--server.port", str(site.dashboard_port))
    return (site.python, "-m", "streamlit", "run", app, *listen)
