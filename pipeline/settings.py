"""The only reader of the environment. Every setting has a default that works on one machine."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from pipeline.errors import UserError

REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things lie and which ports are used. Paths are absolute."""

    home: Path  # engines, models, runs, the embedded database, logs
    runs: Path  # run directories
    locks: Path  # one lock an accelerator; shared by everything on the machine that measures
    warehouse_url: str | None  # None: the embedded database of `home`
    warehouse_reader_url: str | None  # for pages: WAREHOUSE_READER_URL, otherwise the one above
    backups: Path | None  # where maintenance writes the warehouse to; None: nowhere
    postgres_port: int | None  # None: the first free one from the default
    airflow_port: int | None
    dashboard_port: int | None
    vllm_port: int | None
    nightly_cron: str  # of nightly_matrix; empty: 02:00, "off": only by hand
    nightly_timezone: str
    maintenance_cron: str  # of maintenance; empty: noon, or only by hand where the nights are; "off": only by hand
    start_timeout_s: float  # a server that is not ready by then has failed
    request_timeout_s: float
    window_timeout_s: float
    usd_per_gpu_hour: float | None  # what a GPU costs here; None: not stated, and then nothing has a price

    @property
    def engines(self) -> Path:
        """One directory an engine version."""
        return self.home / "engines"

    @property
    def models(self) -> Path:
        """Models that Specwatch prepared."""
        return self.home / "models"


def load_settings(environment: dict[str, str] | None = None) -> Settings:
    """Read SPECWATCH_*, WAREHOUSE_URL and WAREHOUSE_PASSWORD from `environment`, by default the process's own.

    The last two, and WAREHOUSE_READER_URL and WAREHOUSE_READER_PASSWORD, may lie in files: WAREHOUSE_URL_FILE, ...

    Raises UserError naming the variable when a value cannot be read.
    """
    env = dict(os.environ) if environment is None else environment
    home = Path(env.get("SPECWATCH_HOME") or REPOSITORY / ".specwatch").expanduser().resolve()
    runs = Path(env.get("SPECWATCH_RUNS") or home / "runs").expanduser().resolve()
    warehouse_url = _warehouse_url(env, "WAREHOUSE")
    return Settings(
        home=home,
        runs=runs,
        locks=Path(env.get("SPECWATCH_LOCKS") or Path(tempfile.gettempdir()) / f"specwatch-locks-{os.getuid()}"),
        warehouse_url=warehouse_url,
        warehouse_reader_url=_warehouse_url(env, "WAREHOUSE_READER") or warehouse_url,
        backups=Path(env["SPECWATCH_BACKUPS"]).expanduser().resolve() if env.get("SPECWATCH_BACKUPS") else None,
        postgres_port=_port(env, "SPECWATCH_POSTGRES_PORT"),
        airflow_port=_port(env, "SPECWATCH_AIRFLOW_PORT"),
        dashboard_port=_port(env, "SPECWATCH_DASHBOARD_PORT"),
        vllm_port=_port(env, "SPECWATCH_VLLM_PORT"),
        nightly_cron=env.get("SPECWATCH_NIGHTLY_CRON", ""),
        nightly_timezone=env.get("SPECWATCH_NIGHTLY_TIMEZONE", ""),
        maintenance_cron=env.get("SPECWATCH_MAINTENANCE_CRON", ""),
        start_timeout_s=_seconds(env, "SPECWATCH_START_TIMEOUT_S", default=600.0),
        request_timeout_s=_seconds(env, "SPECWATCH_REQUEST_TIMEOUT_S", default=300.0),
        window_timeout_s=_seconds(env, "SPECWATCH_WINDOW_TIMEOUT_S", default=3600.0),
        usd_per_gpu_hour=_price(env, "SPECWATCH_USD_PER_GPU_HOUR"),
    )


def _secret(env: dict[str, str], name: str) -> str | None:
    if value := env.get(name):
        return value
    if path := env.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            message = f"{name}_FILE={path} cannot be read: {error.strerror}. Point it at a readable file."
            raise UserError(message) from error
    return None


def _warehouse_url(env: dict[str, str], name: str) -> str | None:
    """Return `name`_URL, with the password of `name`_PASSWORD where it has none; both may lie in files."""
    url = _secret(env, f"{name}_URL")
    password = _secret(env, f"{name}_PASSWORD")
    if url is None or password is None:
        return url
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    if not login or ":" in login:
        return url
    return parts._replace(netloc=f"{login}:{quote(password, safe='')}@{host}").geturl()


def _port(env: dict[str, str], name: str) -> int | None:
    value = env.get(name)
    if not value:
        return None
    if not value.isdigit() or not 1024 <= int(value) <= 65535:
        message = f"{name}={value!r} is not a port. Give a number from 1024 to 65535, best below 32768."
        raise UserError(message)
    return int(value)


def _positive(env: dict[str, str], name: str, *, otherwise: str) -> float | None:
    value = env.get(name)
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        message = f"{name}={value!r} {otherwise}"
        raise UserError(message)
    return number


def _price(env: dict[str, str], name: str) -> float | None:
    return _positive(env, name, otherwise="is no price. Give dollars an hour, such as 2.50, or leave it out.")


def _seconds(env: dict[str, str], name: str, *, default: float) -> float:
    return _positive(env, name, otherwise="is not a positive number of seconds.") or default
