"""How long a person waits for the command line, and Airflow for a DAG file. Medians of whole processes."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.bench.bars import Bar, publish

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).with_name("specwatch")
RUNS = 7

COMMANDS = {  # what is started; the clock stops at the first byte of output
    "--help": (["--help"], 0.15),
    "plan": (["plan", "matrices/smoke.yaml"], 1.0),
    "doctor": (["doctor"], 1.0),
    "status": (["status"], 1.0),
    "engines list": (["engines", "list"], 1.0),
    "bench (a matrix that is wrong)": (["bench", "matrices/nothing.yaml"], 1.0),
    "ingest (nothing there)": (["ingest", "nothing"], 1.0),
    "trigger (not up)": (["trigger", "nightly"], 1.0),
    "db url (not up)": (["db", "url"], 1.0),
    "down (not up)": (["down"], 1.0),
}
PARSE = """
import sys, time
sys.path.insert(0, "dags")
import airflow.sdk
began = time.perf_counter()
__import__(sys.argv[1])
print(time.perf_counter() - began)
print(sorted(name for name in sys.modules if name.split(".")[0] == "pipeline"))
"""


def first_output_s(arguments: list[str], environment: dict[str, str]) -> float:
    """Return the time from exec to the first byte on either stream, s."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(COMMAND), *arguments], cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    process.stdout.read(1)
    took = time.perf_counter() - began
    process.stdout.read()
    process.wait()
    return took


def main() -> None:
    """Measure every bar."""
    bars = []
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"SPECWATCH_HOME": home, "WAREHOUSE_URL": ""}
        for name, (arguments, goal) in COMMANDS.items():
            times = [first_output_s(arguments, environment) for _ in range(RUNS)]
            bars.append(Bar(f"specwatch {name}: first output", median(times), "s", goal, n=RUNS))
        bare = [first_output_s_of_python() for _ in range(RUNS)]
        for dag in ("nightly_matrix", "adhoc_matrix", "maintenance"):
            times, imported = [], ""
            for _ in range(RUNS):
                done = subprocess.run(
                    [sys.executable, "-W", "ignore", "-c", PARSE, dag],
                    cwd=REPOSITORY,
                    env=os.environ | {"AIRFLOW_HOME": home, "PYTHONDONTWRITEBYTECODE": "1"},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                took, imported = done.stdout.splitlines()[-2:]
                times.append(float(took))
            bars.append(Bar(f"{dag}: parse beyond airflow itself", median(times), "s", 0.3, n=RUNS))
            bars.append(Bar(f"{dag}: modules of pipeline imported at parse", len(eval_list(imported)), "", 0))
    bars[0] = Bar(**(vars(bars[0]) | {"peers": {"python -c pass": median(bare)}}))
    publish("cli", bars)


def eval_list(text: str) -> list[str]:
    """Return the names in a printed list."""
    return [name for name in text.strip("[]").split(", ") if name]


def first_output_s_of_python() -> float:
    """Return the time of an interpreter that does nothing, s."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
