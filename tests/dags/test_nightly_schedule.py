"""When the nightly DAG runs by itself is a setting; by default it does, in a stated timezone."""

from typing import Any

import pytest

from tests.dags.conftest import read_under

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
    return read_under(SETTINGS, PROGRAM, environment=airflow_environment)


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
