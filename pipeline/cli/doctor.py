"""`specwatch doctor`: what this machine can do, and what to do about what it cannot."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pipeline.cli.output import say, say_json, table
from pipeline.errors import EXIT_DONE, EXIT_ENVIRONMENT, SpecwatchError
from pipeline.settings import Settings, load_settings

GIB = 1 << 30
DISK_NEEDED = 8 * GIB  # environment, one engine for CPU, models, database, a few sweeps
MEMORY_NEEDED = 6 * GIB


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `advice` says what to do when it is not fine."""

    name: str
    state: Literal["ok", "note", "missing"]
    found: str
    advice: str = ""


def run(arguments: Any) -> int:
    """Look at everything; nothing is changed."""
    settings = load_settings()
    checks = [check(settings) for check in CHECKS]
    if arguments.json:
        say_json([asdict(check) for check in checks])
    else:
        table(("", "what", "found", "what to do"), [(c.state, c.name, c.found, c.advice or None) for c in checks])
        missing = [check.name for check in checks if check.state == "missing"]
        say(f"missing: {', '.join(missing)}" if missing else "this machine can run the demo")
    return EXIT_ENVIRONMENT if any(check.state == "missing" for check in checks) else EXIT_DONE


def _python(_settings: Settings) -> Check:
    found = ".".join(str(part) for part in sys.version_info[:3])
    good = (3, 11) <= sys.version_info[:2] <= (3, 14)
    return Check("python", "ok" if good else "missing", found, "" if good else "use Python 3.11 to 3.14")


def _disk(settings: Settings) -> Check:
    existing = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    text = f"{free / GIB:.0f} GiB free at {existing}"
    if free >= DISK_NEEDED:
        return Check("disk", "ok", text)
    return Check("disk", "missing", text, f"free {DISK_NEEDED // GIB} GiB, or point SPECWATCH_HOME elsewhere")


def _memory(_settings: Settings) -> Check:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0))
    text = f"{size / GIB:.0f} GiB, {cores} cores"
    if size >= MEMORY_NEEDED:
        return Check("memory", "ok", text)
    return Check("memory", "missing", text, f"the demo needs about {MEMORY_NEEDED // GIB} GiB")


def _gpu(_settings: Settings) -> Check:
    from pipeline.telemetry.hardware import gpu

    try:
        found = gpu()
    except Exception as error:  # noqa: BLE001  # NVML raises its own kinds; all of them mean: no usable GPU
        return Check("gpu", "note", f"none ({error})", "CPU engines are used and labelled so; GPU metrics stay NULL")
    text = f"{found.label}, {found.architecture}, compute {found.compute_capability}, driver {found.driver_version}"
    return Check("gpu", "ok", text)


def _uv(_settings: Settings) -> Check:
    try:
        import uv

        return Check("uv", "ok", uv.find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        return Check("uv", "missing", str(error), "run make env")


def _ports(settings: Settings) -> Check:
    from pipeline.system.layout import Layout
    from pipeline.system.ports import choose_port
    from pipeline.system.state import read_state

    if read_state(Layout(settings.home).state):
        return Check("ports", "ok", "the system runs here")
    try:
        wanted = (
            (settings.airflow_port, 28080, "SPECWATCH_AIRFLOW_PORT"),
            (settings.dashboard_port, 28501, "SPECWATCH_DASHBOARD_PORT"),
            (settings.vllm_port, 28000, "SPECWATCH_VLLM_PORT"),
        )
        found = [choose_port(asked, default=default, variable=variable) for asked, default, variable in wanted]
    except SpecwatchError as error:
        return Check("ports", "missing", "taken", str(error))
    return Check("ports", "ok", f"airflow {found[0]}, dashboard {found[1]}, vLLM {found[2]}")


def _database(settings: Settings) -> Check:
    from pipeline.system import postgres
    from pipeline.system.layout import Layout

    if settings.warehouse_url:
        from pipeline.warehouse.database import open_warehouse

        try:
            with open_warehouse(settings.warehouse_url).connect():
                return Check("warehouse", "ok", "WAREHOUSE_URL answers")
        except Exception as error:  # noqa: BLE001  # whatever the driver says is the finding
            return Check("warehouse", "missing", str(error).splitlines()[0], "check WAREHOUSE_URL, or unset it")
    status = postgres.status(Layout(settings.home).postgres)
    return Check("warehouse", "ok", f"embedded, running on {status.port}" if status.running else "embedded, stopped")


def _engines(settings: Settings) -> Check:
    from pipeline.engines.install import list_installed

    found = [engine.engine.engine_id for engine in list_installed(settings.engines)]
    if found:
        return Check("engines", "ok", ", ".join(found))
    return Check("engines", "note", "none installed", "a sweep installs what it needs, or: specwatch engines install V")


def _models(settings: Settings) -> Check:
    found = sorted(p.name for p in Path(settings.models).glob("*") if p.is_dir() and not p.name.startswith("."))
    return Check("models", "ok" if found else "note", ", ".join(found) or "none prepared", "")


CHECKS: tuple[Callable[[Settings], Check], ...] = (
    _python,
    _disk,
    _memory,
    _gpu,
    _uv,
    _ports,
    _database,
    _engines,
    _models,
)
