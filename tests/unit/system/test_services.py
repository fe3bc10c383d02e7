"""The services as they are defined: what each is told, and what the GPU box is not."""

import dataclasses
import shlex
import subprocess
from pathlib import Path

import pytest
from supervisor.options import ServerOptions

from pipeline.errors import UserError
from pipeline.system.processes import SYSTEM_VARIABLE
from pipeline.system.services import Service, Site, services
from pipeline.system.supervise import Supervisor, configuration, inherited_environment

URL = "postgresql+psycopg://specwatch:pa%24s@127.0.0.1:25432/airflow"  # pragma: allowlist secret - made up


@pytest.fixture
def site() -> Site:
    home = Path("/srv/home of specwatch")
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
        metadata_url=URL,
        warehouse_url=URL.replace("airflow", "specwatch"),
        jwt_secret_file=home / "airflow" / "jwt-secret",
        passwords_file=home / "airflow" / "passwords.json",
        worker_name="box",
        marker="cafe",
    )


def named(site: Site, name: str) -> Service:
    return next(service for service in services(site) if service.name == name)


def test_the_edge_worker_is_told_no_database(site: Site) -> None:
    environment = named(site, "edge-worker").environment

    assert not [name for name, value in environment.items() if "postgresql" in value or "SQL" in name]
    assert "WAREHOUSE_URL" not in environment


def test_the_edge_worker_serves_one_job_of_the_gpu_queue_at_a_time(site: Site) -> None:
    argv = named(site, "edge-worker").argv

    assert argv[argv.index("-q") + 1] == "blackwell"
    assert argv[argv.index("-c") + 1] == "1"


def test_every_service_carries_the_marker_and_keeps_it_readable(site: Site) -> None:
    for service in services(site):
        assert service.environment[SYSTEM_VARIABLE] == "cafe"
        assert service.environment["SPT_NOENV"] == "1"


def test_both_ends_of_the_edge_agree_on_the_heartbeat(site: Site) -> None:
    key = "AIRFLOW__EDGE__HEARTBEAT_INTERVAL"

    assert named(site, "scheduler").environment[key] == named(site, "edge-worker").environment[key] == "5"


def test_servers_listen_on_the_loopback(site: Site) -> None:
    assert "127.0.0.1" in named(site, "api-server").argv
    assert "127.0.0.1" in named(site, "dashboard").argv
    assert "--skip-serve-logs" in named(site, "scheduler").argv
    assert "--skip-serve-logs" in named(site, "triggerer").argv


def test_no_secret_is_in_an_argv(site: Site) -> None:
    assert not [part for service in services(site) for part in service.argv if "pa%24s" in part]


def test_the_configuration_survives_percent_signs_quotes_and_spaces(site: Site, tmp_path: Path) -> None:
    site = dataclasses.replace(site, home=Path('/srv/it"s 100%'), python="/srv/my venv/python")
    supervisor = Supervisor(run=tmp_path, logs=tmp_path, marker="cafe")
    supervisor.config.write_text(configuration(supervisor, services(site), directory=tmp_path))

    options = ServerOptions()
    options.realize(["-c", str(supervisor.config)])

    read = {group.name: group.process_configs[0] for group in options.process_group_configs}
    assert set(read) == {service.name for service in services(site)}
    for service in services(site):
        assert read[service.name].environment == service.environment
        assert shlex.split(read[service.name].command) == list(service.argv)
        assert read[service.name].autorestart
        assert read[service.name].killasgroup


def test_a_path_that_cannot_be_written_down_is_refused(site: Site, tmp_path: Path) -> None:
    site = dataclasses.replace(site, home=Path("""/srv/both'and" """))
    supervisor = Supervisor(run=tmp_path, logs=tmp_path, marker="cafe")

    with pytest.raises(UserError, match="plainer path"):
        configuration(supervisor, services(site), directory=tmp_path)


def test_the_control_socket_fits_into_a_socket_address() -> None:
    deep = Path("/" + "/".join(["a-long-directory-name"] * 12))

    assert len(str(Supervisor(run=deep, logs=deep, marker="cafe").socket)) < 100


def test_services_inherit_proxies_but_no_database_and_no_other_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("WAREHOUSE_URL", URL)
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "Other")

    environment = inherited_environment("cafe")

    assert environment["HTTPS_PROXY"] == "http://proxy:1"
    assert "WAREHOUSE_URL" not in environment
    assert not [name for name in environment if name.startswith("AIRFLOW")]


def test_pages_get_no_address_but_the_readers_where_there_is_one(site: Site, tmp_path: Path) -> None:
    reader = "postgresql://reader@127.0.0.1/specwatch"
    environment = named(dataclasses.replace(site, warehouse_reader_url=reader), "dashboard").environment
    assert environment["WAREHOUSE_READER_URL"] == reader
    assert not [name for name in environment if name.startswith("WAREHOUSE_URL")]
    environment = named(dataclasses.replace(site, warehouse_reader_url=tmp_path / "url"), "dashboard").environment
    assert environment["WAREHOUSE_READER_URL_FILE"] == str(tmp_path / "url")


def test_a_service_is_a_value(site: Site) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        named(site, "scheduler").name = "other"


def test_a_secret_may_lie_in_a_file_whose_last_line_ends(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "a place" / "url"
    path.parent.mkdir()
    path.write_text(f"{URL}\n")
    site = dataclasses.replace(site, metadata_url=path, warehouse_url=path)

    environment = named(site, "scheduler").environment
    said = subprocess.run(
        shlex.split(environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD"]), capture_output=True, text=True, check=True
    )

    assert said.stdout == URL
    assert environment["WAREHOUSE_URL_FILE"] == str(path)
    assert "WAREHOUSE_URL" not in environment
    assert URL not in environment.values()


def test_a_browser_may_know_the_api_server_by_another_name(site: Site) -> None:
    site = dataclasses.replace(site, airflow_host="api-server", browser_url="http://127.0.0.1:9999")

    environment = named(site, "edge-worker").environment

    assert environment["AIRFLOW__API__BASE_URL"] == "http://127.0.0.1:9999"
    assert environment["AIRFLOW__EDGE__API_URL"].startswith("http://api-server:28080/")
