"""docker-compose.yml without Docker: what its images install, and its services as plain processes on the loopback.

Three real environments from the hashed requirements, with the folders that the Dockerfile copies and nothing else. Each
service is started with its own command and exactly its own environment; only container paths, host names and ports are
replaced by those of this machine.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from ruamel.yaml import YAML

from pipeline.settings import REPOSITORY
from pipeline.system import postgres
from pipeline.system.ports import choose_port
from pipeline.system.processes import end_marked, find_marked, home_marker

FILE = REPOSITORY / "docker-compose.yml"
DOCKERFILE = REPOSITORY / "docker" / "Dockerfile"
IMAGES = ("worker", "dashboard", "edge")
FIRST_PORT = 30100
SERVERS = {"SPECWATCH_VLLM_PORT": "30190", "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
STAGE = re.compile(r"^FROM \S+ AS (\w+)$|^COPY (.+) \S+$", re.MULTILINE)
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<text>[^}]*))?\}")


def document(environment: dict[str, str]) -> dict[str, Any]:
    """Read docker-compose.yml as compose does with these variables set. Raises LookupError with the file's sentence."""

    def value(match: re.Match[str]) -> str:
        if found := environment.get(match["name"]):
            return found
        if match["kind"] == "?":
            raise LookupError(match["text"])
        return match["text"] or ""

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(child) for key, child in part.items()}
        if isinstance(part, list):
            return [filled(child) for child in part]
        return VARIABLE.sub(value, part) if isinstance(part, str) else part

    parsed: dict[str, Any] = filled(YAML(typ="safe").load(FILE.read_text()))
    return parsed


def copied(target: str) -> list[str]:
    """Return the paths of the repository that the Dockerfile copies into the stage `target` itself."""
    stages: dict[str, list[str]] = {}
    stage = ""
    for name, sources in STAGE.findall(DOCKERFILE.read_text()):
        stage = name or stage
        stages.setdefault(stage, []).extend(sources.split())
    return stages[target]


@dataclass
class Stack:
    """The compose file on this machine."""

    root: Path
    web: int
    board: int
    secrets: Path
    marker: str
    images: dict[str, Path] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def service(self, name: str) -> dict[str, Any]:
        """One service with container paths, names and ports replaced."""
        found = document(
            {
                "SPECWATCH_SECRETS": str(self.secrets),
                "SPECWATCH_AIRFLOW_PORT": str(self.web),
                "SPECWATCH_NIGHTLY_CRON": "off",
            }
        )
        text = json.dumps(found["services"][name])
        image = self.images[found["services"][name]["build"]["target"]]
        for theirs, ours in {
            "/opt/specwatch": str(image / "code"),
            "/var/lib/specwatch": str(self.root / "home"),
            "/run/secrets": str(self.secrets),
            "api-server:28080": f"127.0.0.1:{self.web}",
            "127.0.0.1:28080": f"127.0.0.1:{self.web}",
            "127.0.0.1:28501": f"127.0.0.1:{self.board}",
            '"28080"': f'"{self.web}"',
            '"28501"': f'"{self.board}"',
            '"0.0.0.0"': '"127.0.0.1"',
            '"SPECWATCH_SYSTEM": "compose"': f'"SPECWATCH_SYSTEM": "{self.marker}"',
        }.items():
            text = text.replace(theirs, ours)
        service: dict[str, Any] = json.loads(text)
        return service

    def environment(self, name: str) -> dict[str, str]:
        """Exactly the environment of the service, and what every container has."""
        service = self.service(name)
        binaries = self.images[service["build"]["target"]] / "venv" / "bin"
        base = SERVERS | {"HOME": str(self.root / "user"), "PATH": f"{binaries}:{SERVERS['PATH']}"}
        return base | {"SPECWATCH_LOCKS": str(self.root / "locks")} | service["environment"]

    def run(self, name: str, argv: list[str], *, timeout_s: float = 240) -> subprocess.CompletedProcess[str]:
        """Run `argv` to its end in the service's environment."""
        return subprocess.run(
            argv,
            env=self.environment(name),
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self, name: str) -> None:
        """Start the service's command as a process."""
        with (self.root / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                self.service(name)["command"],
                env=self.environment(name),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        """The end of what the service printed."""
        return (self.root / f"{name}.log").read_text(errors="replace")[-3000:]


@contextmanager
def compose_stack(root: Path) -> Iterator[Stack]:
    """Make images, secrets and database; at the end nothing of it runs."""
    taken: set[int] = set()
    for offset in range(3):
        taken.add(choose_port(None, default=FIRST_PORT + 30 * offset, variable="a test's port", taken=frozenset(taken)))
    database, web, board = sorted(taken)
    for directory in ("home/airflow", "home/edge", "home/logs", "home/runs", "user"):
        (root / directory).mkdir(parents=True)
    stack = Stack(root=root, web=web, board=board, secrets=root / "secrets", marker=home_marker(root))
    for image in IMAGES:
        stack.images[image] = _image(root / image, name=image)
    subprocess.run([REPOSITORY / "docker" / "secrets.sh", stack.secrets], check=True, capture_output=True)
    try:
        _database(root / "postgres", port=database, secrets=stack.secrets)
        yield stack
    finally:
        end_marked(stack.marker, grace_s=3)  # an api-server can hang at its end
        for process in stack.running.values():
            process.wait(timeout=30)
        postgres.stop(root / "postgres")
    assert find_marked(stack.marker) == []


def _image(directory: Path, *, name: str) -> Path:
    uv = Path(sys.executable).with_name("uv")
    venv = directory / "venv"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, venv], check=True)
    install = [uv, "pip", "install", "--quiet", "--require-hashes", "--requirement", f"requirements/{name}.txt"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    subprocess.run(install, check=True, cwd=REPOSITORY, env=environment | {"VIRTUAL_ENV": str(venv)})
    (packages,) = venv.glob("lib/python3*/site-packages")
    (packages / "specwatch.pth").write_text(f"{directory / 'code'}\n")
    for source in copied(name):
        if (REPOSITORY / source).is_dir():
            shutil.copytree(
                REPOSITORY / source, directory / "code" / source, ignore=shutil.ignore_patterns("__pycache__")
            )
    return directory


def _database(data_dir: Path, *, port: int, secrets: Path) -> None:
    """What the postgres image does with its settings and docker/postgres, on the embedded server."""
    url = postgres.start(data_dir, port=port, options=("fsync=off",))
    password = (secrets / "postgres_password").read_text().strip()
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "create database specwatch",
            (REPOSITORY / "docker" / "postgres" / "airflow.sql").read_text(),
            f"alter role specwatch password '{password}'",
        ):
            connection.execute(statement.encode())
    port = urlsplit(url).port or 0
    for name in ("metadata_url", "warehouse_url"):
        path = secrets / name
        text = path.read_text().replace("@postgres:5432", f"@127.0.0.1:{port}")
        path.chmod(0o600)
        path.write_text(text)
