"""What `up` chose, in <home>/run/system.json, so that every later command finds the running system."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import EnvironmentFault
from pipeline.system.credentials import write_private

LAYOUT_VERSION = 1


@dataclass(frozen=True, slots=True)
class SystemState:
    """The running system as its clients reach it."""

    home: str
    marker: str
    airflow_url: str
    airflow_port: int
    dashboard_url: str
    dashboard_port: int
    postgres_port: int
    metadata_url: str
    warehouse_url: str
    passwords_file: str  # JSON: user -> password
    worker_name: str
    layout_version: int = LAYOUT_VERSION

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


def write_state(path: Path, state: SystemState) -> None:
    """Write `state` for its owner only: a database address can hold a password."""
    write_private(path, json.dumps(state.as_json(), indent=2) + "\n")


def read_state(path: Path) -> SystemState | None:
    """Return the recorded state, or None when nothing (or another layout) is recorded."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return SystemState(**record) if record.get("layout_version") == LAYOUT_VERSION else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        message = f"{path} cannot be read: {error}. Delete it and run: specwatch down && specwatch up"
        raise EnvironmentFault(message) from error
