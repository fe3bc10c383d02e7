"""End everything that `up` started, in an order that lets tasks say goodbye, and nothing else."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.errors import EnvironmentFault
from pipeline.system import postgres, supervise
from pipeline.system.layout import Layout
from pipeline.system.lock import exclusive
from pipeline.system.processes import end_marked

# The edge worker's tasks report their end to the api-server, so that goes last; the rest needs no order.
FIRST = ("edge-worker", "scheduler")
GRACE_S = 10.0
STOP_S = 25.0
POLL_S = 0.1

Report = Callable[[str], None]


def down(home: Path, *, report: Report, grace_s: float = GRACE_S) -> None:
    """End the system of `home`: services, tasks and servers wherever they were re-parented to, then the database.

    Works without a supervisor, and on a system that does not run. Raises EnvironmentFault naming what did not end.
    """
    layout = Layout(home)
    if not layout.run.exists() and not layout.postgres.exists():
        report("nothing runs")
        return
    layout.make()
    with exclusive(layout.lock, report=report):
        _stop_services(layout, report=report)
        left = end_marked(layout.marker, grace_s=grace_s, report=report)
        if postgres.stop(layout.postgres):
            report("database stopped")
        layout.state.unlink(missing_ok=True)
        layout.supervisor.pid_file.unlink(missing_ok=True)
        shutil.rmtree(layout.supervisor.socket.parent, ignore_errors=True)
    if left:
        names = "; ".join(f"{process.pid} {process.command}" for process in left)
        message = f"these processes of ours did not end: {names}. End them with: kill -9 PID"
        raise EnvironmentFault(message)


def _stop_services(layout: Layout, *, report: Report) -> None:
    supervisor = layout.supervisor
    known = supervise.states(supervisor)
    if known is None:
        return
    for name in FIRST:
        if name in known:
            report(f"stopping {name}")
            supervise.stop_service(supervisor, name, wait=True)
    report("stopping the other services")
    for name in known:
        supervise.stop_service(supervisor, name, wait=False)
    deadline = time.monotonic() + STOP_S
    while time.monotonic() < deadline:
        known = supervise.states(supervisor)
        if known is None or all(process.pid is None for process in known.values()):
            break
        time.sleep(POLL_S)
    supervise.shut_down(supervisor)
