"""The environment of a server: what it needs of ours, what we set, and the marks by which a scan finds it."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

MARKER = "SPECWATCH_SERVER"
LOCK_MARK = "SPECWATCH_SERVER_LOCK"
# Airflow's and our own settings hold database passwords; Python's would lead the engine to our packages; coverage would
# measure the engine with us.
_WITHHELD = re.compile(
    r"_*AIRFLOW|WAREHOUSE_|PG[A-Z]+$|POSTGRES|SPECWATCH_(?!SYSTEM$)|PYTHON|COVERAGE_|VIRTUAL_ENV$|UV_"
    r"|.*(?:TOKEN|SECRET|PASSWORD|API_KEY)$"  # models are local, and VLLM_API_KEY would lock us out
)


def marks(marker: str, *, lock_path: Path) -> dict[str, str]:
    """Return the variables that mark a server: whose it is, and which lock it lives under.

    Two accelerators have two locks, so a scan for one never stops the server of the other.
    """
    lock = hashlib.sha256(str(lock_path.resolve()).encode()).hexdigest()[:12]
    return {MARKER: marker, LOCK_MARK: lock}


def server_environment(
    ours: Mapping[str, str], *, told: Mapping[str, str], marked: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a server: ours without what is withheld, then what we tell it, then the marks."""
    inherited = {name: value for name, value in ours.items() if not _WITHHELD.match(name)}
    return inherited | dict(told) | dict(marked)
