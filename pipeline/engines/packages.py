"""The packages beside a release: which CUDA they are built for, and what a method wants in addition."""

import json
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from pipeline.engines.install import (
    MARKER,
    InstalledEngine,
    installed,
    list_packages,
    lock_path,
    locked,
    measure,
    write_atomically,
)
from pipeline.engines.uv_command import Report, UvFailed, last_lines, run_uv
from pipeline.errors import EnvironmentFault

_LOCAL_CUDA = re.compile(r"\+cu(\d+)(\d)$")  # of torch's own index, such as 2.11.0+cu130
_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")


def cuda_of(packages: Mapping[str, str]) -> str | None:
    """Return the CUDA that torch is built for, such as `13.0`; None for CPU, or where the packages do not say."""
    if found := _LOCAL_CUDA.search(packages.get("torch", "")):
        return f"{found[1]}.{found[2]}"
    runtime = next((version for name, version in sorted(packages.items()) if _RUNTIME.fullmatch(name)), None)
    return None if runtime is None else ".".join(runtime.split(".")[:2])


def missing(engine: InstalledEngine, wanted: Collection[str]) -> tuple[str, ...]:
    """Return those of `wanted` (`arctic-inference==0.1.1`) that are not beside the release in that version."""
    there: dict[str, str] = {canonicalize_name(name): version for name, version in engine.packages.items()}
    return tuple(requirement for requirement in wanted if not _is_there(Requirement(requirement), there))


def _is_there(wanted: Requirement, there: Mapping[str, str]) -> bool:
    version = there.get(canonicalize_name(wanted.name))
    return version is not None and wanted.specifier.contains(Version(version).public, prereleases=True)


def add(
    engine: InstalledEngine,
    wanted: Collection[str],
    *,
    root: Path,
    report: Report,
    environ: Mapping[str, str] | None = None,
) -> InstalledEngine:
    """Return the engine with `wanted` in its environment, alone: what they depend on must not move the release's torch.

    Waits while somebody measures with the engine. An interpreter that is not ours is left as it is. Raises
    EnvironmentFault when a package cannot be had or built; the engine is complete all the same.
    """
    if engine.engine.python is not None or engine.engine.external or not missing(engine, wanted):
        return engine
    directory, told = root / engine.engine.engine_id, dict(os.environ if environ is None else environ)
    with locked(lock_path(engine.engine, root=root), report=report) as lock:
        for requirement in missing(installed(engine.engine, root=root) or engine, wanted):
            report(f"adding {requirement} to {engine.engine.engine_id}")
            command = ["pip", "install", "--python", str(engine.python), "--no-deps", requirement]
            try:
                run_uv(command, environ=told, report=report, keep_open=[lock])
            except UvFailed as failed:
                message = (
                    f"{requirement} could not be added to engine {engine.engine.engine_id}: "
                    f"{last_lines(failed.output)}. If it has to be built, install a C++ compiler and cmake; or leave "
                    "out the methods that need it."
                )
                raise EnvironmentFault(message) from failed
        _record(directory, list_packages(str(engine.python), environ=told))
    return installed(engine.engine, root=root) or engine


def _record(directory: Path, packages: Mapping[str, str]) -> None:
    marker = directory / MARKER
    document = json.loads(marker.read_text(encoding="utf-8"))
    document |= {"packages": dict(packages), "size_bytes": measure(directory)}
    write_atomically(marker, text=json.dumps(document, indent=2, sort_keys=True) + "\n")
