"""The secrets of the embedded Airflow: made once, readable by their owner only, never in argv or a log."""

import json
import os
import secrets
from pathlib import Path

from pipeline.errors import EnvironmentFault
from pipeline.system.services import ADMIN


def jwt_secret_file(airflow_home: Path) -> Path:
    """Return the file that holds the key which signs Airflow's tokens; made at the first call."""
    path = airflow_home / "jwt-secret"
    if not path.exists():
        write_private(path, secrets.token_urlsafe(48))
    return path


def passwords_file(airflow_home: Path) -> Path:
    """Return the file of Airflow's users and passwords (JSON); made at the first call with one administrator."""
    path = airflow_home / "passwords.json"
    if not path.exists():
        write_private(path, json.dumps({ADMIN: secrets.token_urlsafe(18)}) + "\n")
    return path


def read_password(path: Path, *, user: str = ADMIN) -> str:
    """Return the password of `user`. Raises EnvironmentFault when the file does not say it."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))[user])
    except (OSError, ValueError, KeyError) as error:
        message = f"no password of Airflow's user {user} in {path}. Start the system with: specwatch up"
        raise EnvironmentFault(message) from error


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` atomically with mode 0600."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
