"""Folders of wheels that this machine's pip or uv was told about: a torch for CPU may lie there already."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_PIP_KEYS = ("global.find-links", "install.find-links")
_CPU_TORCH = "torch-*+cpu*.whl"
_PIP_TIMEOUT_S = 30


def find_links(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the places named by UV_FIND_LINKS, by PIP_FIND_LINKS or by pip's configuration, each once."""
    places = environ.get("UV_FIND_LINKS", "").replace(",", " ").split()
    places += environ.get("PIP_FIND_LINKS", "").split()
    for key in _PIP_KEYS:
        places += _pip_setting(key, environ=environ).split()
    return tuple(dict.fromkeys(places))


def holds_cpu_torch(place: str) -> bool:
    """Return whether `place` is a directory with a torch wheel built for CPU."""
    directory = Path(place.removeprefix("file://"))
    return directory.is_dir() and any(directory.glob(_CPU_TORCH))


def _pip_setting(key: str, *, environ: Mapping[str, str]) -> str:
    """Return a setting of pip's configuration files; empty when there is none, or no pip."""
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", key],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PIP_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
