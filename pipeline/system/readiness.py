"""Signs of life: not that a process exists, but that it does its work."""

import datetime as dt
import math
import time
import urllib.error
import urllib.request

from pipeline.errors import EnvironmentFault
from pipeline.system.airflow_api import Airflow, request
from pipeline.system.services import Probe

WORKING = frozenset({"idle", "running"})
COMPONENTS: tuple[Probe, ...] = ("scheduler", "dag_processor", "triggerer")


def signs_of_life(api: Airflow, *, dashboard_url: str, worker_name: str, timeout_s: float = 5.0) -> dict[Probe, float]:
    """Return when each service last showed that it works, in seconds since the epoch; absent without a sign.

    Compare with the start of its process: what was killed leaves its last heartbeat in the database.
    """
    signs: dict[Probe, float] = {}
    if answers(f"{dashboard_url}/_stcore/health", timeout_s=timeout_s):
        signs["dashboard"] = time.time()
    try:
        health = request(f"{api.url}/api/v2/monitor/health", timeout_s=timeout_s)
        signs["api"] = time.time()
        for component in COMPONENTS:
            known = health.get(component) or {}
            if known.get("status") == "healthy":
                signs[component] = _seconds(known.get(f"latest_{component}_heartbeat"))
        signs["edge"] = _edge_sign(api, worker_name=worker_name)
    except EnvironmentFault:
        return signs
    return signs


def answers(url: str, *, timeout_s: float) -> bool:
    """Return whether a GET on `url` succeeds."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _edge_sign(api: Airflow, *, worker_name: str) -> float:
    workers = api.get("/edge_worker/ui/worker")["workers"]
    stamps = [
        worker["last_heartbeat"]
        for worker in workers
        if worker["worker_name"] == worker_name and worker["state"] in WORKING
    ]
    return max((_seconds(stamp) for stamp in stamps), default=-math.inf)


def _seconds(stamp: str | None) -> float:
    return -math.inf if stamp is None else dt.datetime.fromisoformat(stamp).timestamp()
