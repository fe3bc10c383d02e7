"""Folders of wheels that this machine's pip or uv was told about: a torch for CPU may lie there already."""

import ast
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_PIP_LINE = re.compile(r"^(?:global|install)\.find-links=('.*'|\".*\")$", re.MULTILINE)
_CPU_TORCH = "torch-*+cpu*.whl"
_PIP_TIMEOUT_S = 30


def find_links(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the places named by UV_FIND_LINKS, by PIP_FIND_LINKS or by pip's configuration, each once."""
    places = environ.get("UV_FIND_LINKS", "").replace(",", " ").split()
    places += environ.get("PIP_FIND_LINKS", "").split()
    places += _pip_setting(environ)
    return tuple(dict.fromkeys(places))


def holds_cpu_torch(place: str) -> bool:
    """Return whether `place` is a directory with a torch wheel built for CPU."""
    directory = Path(place.removeprefix("file://"))
    return directory.is_dir() and any(directory.glob(_CPU_TORCH))


def _pip_setting(environ: Mapping[str, str]) -> list[str]:
    """Return the places that pip's configuration names; none when there is no pip.

    `pip config list`, because `pip config get` overlooks PIP_CONFIG_FILE.
    """
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PIP_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    values = (str(ast.literal_eval(value)) for value in _PIP_LINE.findall(answer.stdout))
    return [place for value in values for place in value.split()]
