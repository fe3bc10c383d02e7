"""Write docker-compose.yml from `pipeline.system.services`: the commands and settings that `specwatch up` uses.

`python -m tools.compose` (or `make compose`); a test holds the committed file equal to this.
"""

import io
import shlex
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import LiteralScalarString

from pipeline.settings import REPOSITORY
from pipeline.system.services import (
    POOL,
    POOL_SLOTS,
    Probe,
    Service,
    Site,
    central_environment,
    migrations,
    services,
)

FILE = REPOSITORY / "docker-compose.yml"
POSTGRES_IMAGE = "postgres:18.6-bookworm"  # the embedded Postgres is the same release
CODE = Path("/opt/specwatch")
HOME = Path("/var/lib/specwatch")
SECRETS = Path("/run/secrets")
UNSET = "the directory that docker/secrets.sh made is not named; see docs/operations.md"
EVERYONE, GPU_BOX = "system", "gpu"  # networks: the GPU box reaches the api-server and no database
SITE = Site(
    python="python",
    repository=CODE,
    home=HOME,
    runs=HOME / "runs",
    airflow_home=HOME / "airflow",
    edge_home=HOME / "edge",
    logs=HOME / "logs",
    airflow_port=28080,
    dashboard_port=28501,
    metadata_url=SECRETS / "metadata_url",
    warehouse_url=SECRETS / "warehouse_url",
    jwt_secret_file=SECRETS / "jwt_secret",
    passwords_file=HOME / "airflow" / "passwords.json",
    worker_name="blackwell-0",
    marker="compose",
    nightly_cron="${SPECWATCH_NIGHTLY_CRON:-}",
    usd_per_gpu_hour="${SPECWATCH_USD_PER_GPU_HOUR:-}",
    nightly_timezone="${SPECWATCH_NIGHTLY_TIMEZONE:-}",
    maintenance_cron="${SPECWATCH_MAINTENANCE_CRON:-}",
    bind="0.0.0.0",  # noqa: S104  # inside its container; the host publishes it on the loopback only
    airflow_host="api-server",
    browser_url="http://127.0.0.1:${SPECWATCH_AIRFLOW_PORT:-28080}",
)
POSTGRES_PORT = 25432
HEADER = """\
# Made by `make compose` from pipeline/system/services.py and tools/compose.py: change those, not this file.
# First docker/secrets.sh, then `docker compose --profile gpu up --build --detach` (without a GPU, no profile).
"""


def main() -> None:
    """Write the file."""
    FILE.write_text(render(), encoding="utf-8")


def render() -> str:
    """Return the text of docker-compose.yml."""
    yaml = YAML()
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(document(SITE), out)
    return HEADER + out.getvalue()


def document(site: Site) -> dict[str, Any]:
    """Return the compose file as a mapping. The environment that several services share is written once."""
    central = _environment(central_environment(site))
    central.yaml_set_anchor("central")
    defined = {service.name: service for service in services(site)}
    made = {"postgres": _postgres(), "migrations": _migrations(site, central)}
    for name in ("api-server", "scheduler", "dag-processor", "triggerer"):
        made[name] = _central(defined[name], site=site, environment=central)
    made["dashboard"] = _dashboard(defined["dashboard"], site=site)
    made["edge-worker"] = _edge_worker(defined["edge-worker"], site=site)
    secrets = ("postgres_password", "metadata_url", "warehouse_url", "jwt_secret", "airflow_passwords")
    volumes = ("database", "airflow", "logs", "runs", "engines", "models")
    return {
        "name": "specwatch",
        "x-central": {"environment": central},
        "services": made,
        "networks": {EVERYONE: {}, GPU_BOX: {}},
        "volumes": {volume: {} for volume in volumes},
        "secrets": {name: {"file": f"${{SPECWATCH_SECRETS:?{UNSET}}}/{name}"} for name in secrets},
    }


def _environment(variables: dict[str, str]) -> CommentedMap:
    told = CommentedMap(sorted(variables.items()))
    for name in told:
        if name.endswith("_SECRET_CMD"):
            told.yaml_add_eol_comment("pragma: allowlist secret - the command that reads it", name)
    return told


def _postgres() -> dict[str, Any]:
    ready = ["CMD", "pg_isready", "--host", "127.0.0.1", "--username", "specwatch", "--dbname", "specwatch"]
    return {
        "image": POSTGRES_IMAGE,
        "environment": {
            "POSTGRES_USER": "specwatch",
            "POSTGRES_DB": "specwatch",
            "POSTGRES_PASSWORD_FILE": str(SECRETS / "postgres_password"),
            "POSTGRES_INITDB_ARGS": "--locale=C --encoding=UTF8",
        },
        "secrets": ["postgres_password"],
        # From 18 on the image keeps a directory a release below this one.
        "volumes": ["database:/var/lib/postgresql", "./docker/postgres:/docker-entrypoint-initdb.d:ro"],
        "ports": [_loopback("SPECWATCH_POSTGRES_PORT", default=POSTGRES_PORT, inside=5432)],
        "networks": [EVERYONE],
        "shm_size": "256m",
        "stop_grace_period": "60s",
        # By TCP: while it prepares its files, it answers on its socket already.
        "healthcheck": _healthcheck(ready),
        "restart": "unless-stopped",
    }


def _migrations(site: Site, environment: CommentedMap) -> dict[str, Any]:
    """One run before the services: tables, the pool of the GPU, and Airflow's password file, which it must own."""
    commands = (
        *migrations(site),
        (site.python, "-m", "airflow", "pools", "set", POOL, str(POOL_SLOTS), "one slot a GPU"),
        ("install", "-m", "0600", str(SECRETS / "airflow_passwords"), str(site.passwords_file)),
    )
    return {
        **_image("worker"),
        "command": ["sh", "-ec", LiteralScalarString("".join(f"{shlex.join(command)}\n" for command in commands))],
        "environment": environment,
        "secrets": ["metadata_url", "warehouse_url", "jwt_secret", "airflow_passwords"],
        "volumes": [f"airflow:{site.airflow_home}", f"logs:{site.logs}"],
        "networks": [EVERYONE],
        "depends_on": {"postgres": {"condition": "service_healthy"}},
        "restart": "on-failure:5",
    }


def _central(service: Service, *, site: Site, environment: CommentedMap) -> dict[str, Any]:
    parts: dict[str, Any] = {
        **_process(service, image="worker"),
        "environment": environment,
        "secrets": ["metadata_url", "warehouse_url", "jwt_secret"],
        "volumes": [f"airflow:{site.airflow_home}", f"logs:{site.logs}", f"runs:{site.runs}"],
        "networks": [EVERYONE],
        "depends_on": {"migrations": {"condition": "service_completed_successfully"}},
        "healthcheck": _component(service.ready, site=site),
    }
    if service.ready == "api":
        parts["ports"] = [_loopback("SPECWATCH_AIRFLOW_PORT", default=site.airflow_port, inside=site.airflow_port)]
        parts["networks"] = [EVERYONE, GPU_BOX]
    return parts


def _dashboard(service: Service, *, site: Site) -> dict[str, Any]:
    port = site.dashboard_port
    look = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/_stcore/health', timeout=4)"
    return {
        **_process(service, image="dashboard"),
        "environment": _environment(service.environment),
        "secrets": ["warehouse_url"],
        "ports": [_loopback("SPECWATCH_DASHBOARD_PORT", default=port, inside=port)],
        "networks": [EVERYONE],
        "depends_on": {"migrations": {"condition": "service_completed_successfully"}},
        "healthcheck": _healthcheck(["CMD", "python", "-c", look]),
    }


def _edge_worker(service: Service, *, site: Site) -> dict[str, Any]:
    """The GPU box: HTTP to the api-server. It has no secret but the key that signs its requests."""
    return {
        "profiles": ["gpu"],
        **_process(service, image="edge"),
        "environment": _environment(service.environment),
        "secrets": ["jwt_secret"],
        "volumes": [f"runs:{site.runs}", f"engines:{site.home / 'engines'}", f"models:{site.home / 'models'}"],
        "networks": [GPU_BOX],
        "depends_on": {"api-server": {"condition": "service_healthy"}},
        "shm_size": "8g",  # vLLM's processes talk through it
        "deploy": {
            "resources": {"reservations": {"devices": [{"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}]}}
        },
    }


def _process(service: Service, *, image: str) -> dict[str, Any]:
    return {
        **_image(image),
        "command": list(service.argv),
        "init": True,  # tasks leave children behind that somebody has to reap
        "stop_grace_period": f"{service.stop_s}s",
        "restart": "unless-stopped",
    }


def _image(name: str) -> dict[str, Any]:
    build = {"context": ".", "dockerfile": "docker/Dockerfile", "target": name}
    return {"image": f"specwatch-{name}", "build": build}


def _component(probe: Probe, *, site: Site) -> dict[str, Any]:
    """Ask the api-server, which knows the last heartbeat of the others."""
    host = "127.0.0.1" if probe == "api" else site.airflow_host
    name = "metadatabase" if probe == "api" else probe
    look = (
        "import json, urllib.request as u; "
        f"known = json.load(u.urlopen('http://{host}:{site.airflow_port}/api/v2/monitor/health', timeout=4)); "
        f"assert known['{name}']['status'] == 'healthy', known"
    )
    return _healthcheck(["CMD", "python", "-c", look])


def _healthcheck(test: list[str]) -> dict[str, Any]:
    return {
        "test": test,
        "interval": "15s",
        "timeout": "5s",
        "retries": 4,
        "start_period": "90s",
        "start_interval": "3s",
    }


def _loopback(variable: str, *, default: int, inside: int) -> str:
    return f"127.0.0.1:${{{variable}:-{default}}}:{inside}"


if __name__ == "__main__":
    main()
