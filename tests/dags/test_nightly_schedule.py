"""When the nightly DAG runs by itself is a setting; by default it does, in a stated timezone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.settings import REPOSITORY

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import nightly_matrix
table = nightly_matrix.nightly_matrix.timetable
print(json.dumps([type(table).__name__, [str(getattr(table, name, "")) for name in ("expression", "timezone")]]))
"""


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({}, "CronTriggerTimetable", ["0 2 * * *", "Europe/Berlin"]),
        (
            {"SPECWATCH_NIGHTLY_CRON": "30 4 * * *", "SPECWATCH_NIGHTLY_TIMEZONE": "UTC"},
            "CronTriggerTimetable",
            ["30 4 * * *", "UTC"],
        ),
        ({"SPECWATCH_NIGHTLY_CRON": "off"}, "NullTimetable", []),
    ],
)
def test_the_schedule_is_a_setting(tmp_path: Path, given: dict[str, str], kind: str, said: list[str]) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SPECWATCH_")}
    environment = inherited | {"AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"} | given
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(REPOSITORY / "dags")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found, table = json.loads(done.stdout.splitlines()[-1])
    assert found == kind
    for word in said:
        assert word in table
