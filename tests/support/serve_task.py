"""A task that owns a server, as a program: tests kill it, and the processes above it.

usage: python -m tests.support.serve_task JSON   (the keyword arguments of `serve`, `argv`, and `hold`: how it waits)
Prints one JSON line an event: {"event": "waiting" | "ready" | "interrupted" | "failed", ...}.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pipeline.engines.failures import classify
from pipeline.serve.errors import ServerFailed, ServerInterrupted
from pipeline.serve.server import serve


def say(event: str, **values: Any) -> None:
    """Print one event."""
    print(json.dumps({"event": event, **values}), flush=True)  # noqa: T201  # the test reads it


def main(job: dict[str, Any]) -> int:
    """Serve until killed; return 3 when interrupted, 4 when the server failed."""
    hold = job.pop("hold", "sleep")
    argv = job.pop("argv")
    paths = {name: Path(job.pop(name)) for name in ("log_path", "lock_path")}
    try:
        with serve(argv, **paths, **job, classify=classify, report=lambda text: say("waiting", text=text)) as server:
            say("ready", task=os.getpid(), server=server.pid, keeper=server.process.pid)
            _hold(hold)
    except ServerInterrupted as error:
        say("interrupted", message=str(error))
        return 3
    except ServerFailed as error:
        say("failed", failure_class=error.failure.failure_class)
        return 4
    return 0


def _hold(how: str) -> None:
    if how == "uvloop":
        import uvloop

        uvloop.run(asyncio.sleep(600))
    elif how == "asyncio":
        asyncio.run(asyncio.sleep(600))
    else:
        time.sleep(600)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
