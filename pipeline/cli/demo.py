"""`specwatch demo`: everything up, the recorded sweeps, one real sweep through Airflow, the verdicts."""

import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from pipeline.cli.output import progress_bar, say, tell
from pipeline.cli.samples import read_samples
from pipeline.cli.system import start
from pipeline.cli.trigger import run_address, watch
from pipeline.cli.verdict import read_verdicts, show
from pipeline.errors import EXIT_DONE, EXIT_GATE
from pipeline.settings import Settings, load_settings
from pipeline.system.airflow_api import Airflow, returned, trigger
from pipeline.system.down import down
from pipeline.system.layout import Layout
from pipeline.system.state import read_state

DAG = "nightly_matrix"
POLL_S = 1.0


def run(arguments: Any) -> int:
    """Run the demo; Ctrl-C, at any time, ends everything that it started."""
    settings = load_settings()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        green = _sweep(settings, arguments.matrix)
        if not arguments.detach and sys.stdin.isatty():
            _stay(settings)
    except KeyboardInterrupt:
        tell("interrupted: ending everything that was started")
        down(settings.home, report=tell)
        return EXIT_DONE
    return EXIT_DONE if green else EXIT_GATE


def _sweep(settings: Settings, matrix: str) -> bool:
    began = time.monotonic()
    state = start(settings, nightly_cron="off")  # a night that was missed would run before the demo's own sweep
    tell(f"everything is up after {time.monotonic() - began:.0f} s")
    with progress_bar("recorded sweeps") as (progress, report):
        read_samples(settings, report=report, progress=progress)  # before the sweep: it must not run beside a window
    api = Airflow(state.airflow_url, Path(state.passwords_file))
    run_id = trigger(api, DAG, conf={"matrix": matrix})
    tell(f"triggered {DAG} with {matrix}: {run_address(state, DAG, run_id)}")
    green = watch(api, DAG, run_id)
    tell(f"the run is {'green' if green else 'RED'} after {time.monotonic() - began:.0f} s")
    sweep_id = returned(api, DAG, run_id, task_id="plan", key="sweep_id")
    say()
    show(read_verdicts(sweep_id) if sweep_id else [])
    say("why: .venv/bin/specwatch verdict --why")
    say()
    say(f"dashboard  {state.dashboard_url}")
    say(f"airflow    {state.airflow_url}  (user admin, password in {state.passwords_file})")
    say(f"run        {settings.runs / sweep_id}" if sweep_id else "no sweep was planned: see the log above")
    say("Ctrl-C, or `make down` in another terminal, ends everything." if sys.stdin.isatty() else "end it: make down")
    return green


def _stay(settings: Settings) -> None:
    """Wait until the person ends it here, or `specwatch down` did so elsewhere."""
    while read_state(Layout(settings.home).state) is not None:
        time.sleep(POLL_S)
    tell("the system was ended")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
