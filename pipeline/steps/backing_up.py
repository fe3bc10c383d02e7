"""Warehouse -> one file, and back."""

import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.errors import EnvironmentFault
from pipeline.settings import load_settings
from pipeline.steps.exporting import whole_path
from pipeline.steps.warehousing import warehouse_url
from pipeline.system import postgres
from pipeline.warehouse.backup import server_version, write_backup
from pipeline.warehouse.backup_restore import is_newest, make_database, restore
from pipeline.warehouse.database import Warehouse, open_warehouse
from pipeline.warehouse.migrate import migrate

Report = Callable[[str], None]
TLS_MODES = ("require", "verify-ca", "verify-full")
VERSION_TIMEOUT_S = 30
KEPT = 7  # backups of maintenance


def backup_warehouse(path: Path | None, *, report: Report) -> dict[str, Any]:
    """Back the warehouse up to `path`, by default a dated file in SPECWATCH_HOME/backups; return file and manifest."""
    settings = load_settings()
    engine = open_warehouse(warehouse_url(settings))
    to = path or settings.home / "backups" / _dated_name()
    with whole_path(to) as temporary:
        manifest = write_backup(engine, temporary, pg_dump=_program("pg_dump", engine), report=report)
    return {"file": str(to), "bytes": to.stat().st_size} | manifest.as_json()


def keep_backups(*, report: Report) -> dict[str, Any]:
    """See pipeline.steps.backup_warehouse."""
    directory = load_settings().backups
    if directory is None:
        return {"file": None, "dropped": []}
    done = backup_warehouse(directory / _dated_name(), report=report)
    old = sorted(directory.glob("warehouse-*.dump"))[:-KEPT]
    for path in old:
        path.unlink()
        report(f"{path} is older than the {KEPT} newest: removed")
    return {"file": done["file"], "bytes": done["bytes"], "dropped": [str(path) for path in old]}


def _dated_name() -> str:
    return f"warehouse-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.dump"


def restore_warehouse(path: Path, *, into: str | None, replace: bool, report: Report) -> dict[str, Any]:
    """Restore a backup into the warehouse, or into database `into` beside it; return what is proven to be there.

    A backup of an older release stays at its schema: `specwatch db migrate` brings it up to date.
    """
    engine = open_warehouse(warehouse_url(load_settings()))
    if into:
        engine = open_warehouse(make_database(engine, into))
    programs = {name: _program(name, engine) for name in ("pg_restore", "psql")}
    manifest = restore(engine, path, replace=replace, **programs)
    report(f"{path}: restored, every table counted and summed")
    if is_newest(manifest.revision):
        migrate(engine)  # views and privileges of this release
    return {"file": str(path), "database": engine.url.database} | manifest.as_json()


def _program(name: str, engine: Warehouse) -> str:
    """Return the first of the embedded program and the one on PATH that is not older than the server.

    The embedded ones are built without TLS: where the address asks for it, only the one on PATH will do.
    """
    major, said = server_version(engine)
    found: list[str] = []
    asks_for_tls = engine.url.query.get("sslmode") in TLS_MODES
    for candidate in (None if asks_for_tls else postgres.client_program(name), shutil.which(name)):
        if candidate is None:
            continue
        version = _major(str(candidate))
        if version is not None and version >= major:
            return str(candidate)
        found.append(f"{candidate} ({version})")
    have = f"found only {', '.join(found)}" if found else "none was found"
    message = f"The server is Postgres {said}, and {name} must not be older: {have}. Install its client programs."
    raise EnvironmentFault(message)


def _major(program: str) -> int | None:
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r"(\d+)(?:\.\d+)?", done.stdout)
    return int(said.group(1)) if said else None
