"""What the environment says, and what is said back when it makes no sense."""

from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.settings import REPOSITORY, load_settings


def test_without_any_setting_everything_lies_in_the_repository_and_ports_are_free_to_choose() -> None:
    settings = load_settings({})
    assert settings.home == REPOSITORY / ".specwatch"
    assert (settings.runs, settings.engines, settings.models) == tuple(
        settings.home / name for name in ("runs", "engines", "models")
    )
    assert (settings.warehouse_url, settings.postgres_port, settings.vllm_port) == (None, None, None)
    assert (settings.start_timeout_s, settings.request_timeout_s, settings.window_timeout_s) == (600, 300, 3600)


def test_a_home_of_ones_own_takes_everything_with_it(tmp_path: Path) -> None:
    settings = load_settings({"SPECWATCH_HOME": str(tmp_path), "SPECWATCH_RUNS": ""})
    assert settings.runs == tmp_path / "runs"
    assert load_settings({"SPECWATCH_HOME": "relative"}).home.is_absolute()


@pytest.mark.parametrize("value", ["80", "65536", "http", "-1", "1e4"])
def test_a_port_that_is_none_is_named(value: str) -> None:
    with pytest.raises(UserError, match=r"SPECWATCH_VLLM_PORT='.*1024 to 65535"):
        load_settings({"SPECWATCH_VLLM_PORT": value})


@pytest.mark.parametrize("value", ["0", "-1", "soon", "inf", "nan"])
def test_seconds_that_never_end_or_never_begin_are_named(value: str) -> None:
    with pytest.raises(UserError, match=r"SPECWATCH_START_TIMEOUT_S=.* is not a positive number of seconds"):
        load_settings({"SPECWATCH_START_TIMEOUT_S": value})


def test_given_numbers_are_taken() -> None:
    settings = load_settings({"SPECWATCH_POSTGRES_PORT": "25432", "SPECWATCH_REQUEST_TIMEOUT_S": "1.5"})
    assert (settings.postgres_port, settings.request_timeout_s) == (25432, 1.5)


def test_a_url_may_come_from_a_file_and_the_variable_itself_wins(tmp_path: Path) -> None:
    path = tmp_path / "url"
    path.write_text("postgresql://h/file\n", encoding="utf-8")
    from_file = {"WAREHOUSE_URL_FILE": str(path)}
    assert load_settings(from_file).warehouse_url == "postgresql://h/file"
    assert load_settings(from_file | {"WAREHOUSE_URL": "postgresql://h/own"}).warehouse_url == "postgresql://h/own"


def test_a_file_that_cannot_be_read_is_named_with_its_variable(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"WAREHOUSE_URL_FILE=.*none cannot be read: No such file"):
        load_settings({"WAREHOUSE_URL_FILE": str(tmp_path / "none")})


def test_a_gpu_has_a_price_only_when_one_is_stated() -> None:
    assert load_settings({}).usd_per_gpu_hour is None
    assert load_settings({"SPECWATCH_USD_PER_GPU_HOUR": "2.5"}).usd_per_gpu_hour == 2.5


@pytest.mark.parametrize("value", ["0", "-1", "free", "inf", "nan"])
def test_a_price_that_is_none_is_named(value: str) -> None:
    with pytest.raises(UserError, match=r"SPECWATCH_USD_PER_GPU_HOUR=.* is no price"):
        load_settings({"SPECWATCH_USD_PER_GPU_HOUR": value})


@pytest.mark.parametrize(
    ("login", "expected"), [("u@h:5", "u:p%2Fw@h:5"), ("u:own@h", "u:own@h"), ("", "")], ids=["none", "own", "no login"]
)
def test_the_password_of_the_warehouse_may_lie_in_a_file(tmp_path: Path, login: str, expected: str) -> None:
    secret = tmp_path / "password"
    secret.write_text("p/w\n")
    found = load_settings(
        {"WAREHOUSE_URL": f"postgresql://{login}/d?sslmode=require", "WAREHOUSE_PASSWORD_FILE": str(secret)}
    )
    assert found.warehouse_url == f"postgresql://{expected}/d?sslmode=require"


def test_pages_ask_as_the_reader_where_one_is_told_apart(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("p\n")
    own = {"WAREHOUSE_URL": "postgresql://u@h/d"}
    reader = {"WAREHOUSE_READER_URL": "postgresql://r@h/d", "WAREHOUSE_READER_PASSWORD_FILE": str(secret)}
    assert load_settings({}).warehouse_reader_url is None
    assert load_settings(own).warehouse_reader_url == "postgresql://u@h/d"
    found = load_settings(own | reader)
    assert (found.warehouse_url, found.warehouse_reader_url) == ("postgresql://u@h/d", "postgresql://r:p@h/d")
    assert load_settings(reader).warehouse_url is None
