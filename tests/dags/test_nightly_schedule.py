"""When the nightly DAG runs by itself is a setting; by default it does, in a stated timezone."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from pipeline.settings import REPOSITORY

SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "chosen": {"SPECWATCH_NIGHTLY_CRON": "30 4 * * *", "SPECWATCH_NIGHTLY_TIMEZONE": "UTC"},
    "off": {"SPECWATCH_NIGHTLY_CRON": "off"},
}
# Airflow is imported once for all: only the DAG's own files read the settings.
PROGRAM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
found = {}
for name, given in json.loads(sys.argv[2]).items():
    os.environ.update(given)
    import nightly_matrix
    table = nightly_matrix.nightly_matrix.timetable
    found[name] = [type(table).__name__, [str(getattr(table, key, "")) for key in ("expression", "timezone")]]
    for variable in given:
        del os.environ[variable]
    for module in ("nightly_matrix", "factory"):
        del sys.modules[module]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def schedules(airflow_environment: dict[str, str]) -> dict[str, Any]:
    """Timetable, expression and timezone for each of SETTINGS."""
    environment = {name: value for name, value in airflow_environment.items() if not name.startswith("SPECWATCH_")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(REPOSITORY / "dags"), json.dumps(SETTINGS)],
        env=environment | {"TZ": os.environ.get("TZ", "UTC")},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


@pytest.mark.parametrize(
    ("setting", "kind", "said"),
    [
        ("default", "CronTriggerTimetable", ["0 2 * * *", "Europe/Berlin"]),
        ("chosen", "CronTriggerTimetable", ["30 4 * * *", "UTC"]),
        ("off", "NullTimetable", []),
    ],
)
def test_the_schedule_is_a_setting(schedules: dict[str, Any], setting: str, kind: str, said: list[str]) -> None:
    found, (expression, timezone) = schedules[setting]
    assert found == kind
    if said:
        assert expression == said[0]
        assert said[1] in timezone
