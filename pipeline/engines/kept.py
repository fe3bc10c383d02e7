"""Engines on disk: what each takes, when it was last used, and which ones can go."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.domain.engine import Engine
from pipeline.engines.install import MARKER, InstalledEngine, list_installed, lock_path, measure

USED = "last-used"  # its time of change is when a server was last started from the engine
_DAY_S = 86400.0
_ENGINE_ID = re.compile(r"(\d+\.\d+\S*)-(cpu|cuda)")


@dataclass(frozen=True, slots=True)
class KeptEngine:
    """One installed engine and what it costs."""

    installed: InstalledEngine
    size_bytes: int  # of the environment as it was made, without bytecode that Python wrote since; files that other
    # engines share (hard links of uv's cache) count in each
    cache_bytes: int  # of its compile caches
    last_used_s: float  # Unix time; of the installation, where nothing was started since


@dataclass(frozen=True, slots=True)
class Pruning:
    """What `prune` did with an engine, or would do, and why."""

    engine: Engine
    removed: bool
    reason: str
    freed_bytes: int  # 0 for one that stays


@contextmanager
def using(engine: InstalledEngine, *, root: Path) -> Iterator[None]:
    """Note that the engine is used, and keep it from being removed while inside. Others may use it, too."""
    directory = root / engine.engine.engine_id
    if engine.engine.python is not None or engine.engine.external or not directory.is_dir():
        yield
        return
    (directory / USED).touch()
    descriptor = os.open(lock_path(engine.engine, root=root), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)
        (directory / USED).touch()


def kept_engines(root: Path, *, caches: Path) -> tuple[KeptEngine, ...]:
    """Return every complete engine under `root` with its size and last use, by engine id."""
    return tuple(
        KeptEngine(
            installed=found,
            size_bytes=_size(root / found.engine.engine_id),
            cache_bytes=_size(caches / found.engine.engine_id),
            last_used_s=_last_used(root / found.engine.engine_id),
        )
        for found in list_installed(root)
    )


def prune(
    root: Path, *, caches: Path, pinned: Collection[str], older_than_days: float, now_s: float, dry_run: bool
) -> tuple[Pruning, ...]:
    """Remove engines and their compile caches, but those whose version is `pinned`, and those used lately or right now.

    What a killed installer left is removed whatever its version: it is never used. Returns what became of each, by
    engine id; `dry_run` only says it.
    """
    done = []
    for kept in kept_engines(root, caches=caches):
        engine = kept.installed.engine
        days = (now_s - kept.last_used_s) / _DAY_S
        if engine.version in pinned:
            done.append(Pruning(engine, removed=False, reason="a matrix names it", freed_bytes=0))
        elif days < older_than_days:
            reason = f"used {days:.0f} days ago, less than {older_than_days:g}"
            done.append(Pruning(engine, removed=False, reason=reason, freed_bytes=0))
        else:
            size, reason = kept.size_bytes + kept.cache_bytes, f"not used for {days:.0f} days"
            done.append(_remove(engine, root=root, caches=caches, size=size, reason=reason, dry_run=dry_run))
    for engine in _half_made(root):
        size, reason = measure(root / engine.engine_id), "half-made: its installer was killed"
        done.append(_remove(engine, root=root, caches=None, size=size, reason=reason, dry_run=dry_run))
    return tuple(done)


def _half_made(root: Path) -> Iterator[Engine]:
    """Yield the engines whose directory has an environment, or the beginning of one, and no marker."""
    for directory in sorted(root.glob("*-c*")):
        named = _ENGINE_ID.fullmatch(directory.name)
        if named and directory.is_dir() and not (directory / MARKER).exists():
            yield Engine(version=named[1], platform="cpu" if named[2] == "cpu" else "cuda")


def _remove(engine: Engine, *, root: Path, caches: Path | None, size: int, reason: str, dry_run: bool) -> Pruning:
    descriptor = os.open(lock_path(engine, root=root), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return Pruning(engine, removed=False, reason="in use right now", freed_bytes=0)
        if not dry_run:
            directory = root / engine.engine_id
            (directory / MARKER).unlink(missing_ok=True)  # first: what is half-removed is never used
            shutil.rmtree(directory)
            if caches is not None:
                shutil.rmtree(caches / engine.engine_id, ignore_errors=True)
        return Pruning(engine, removed=True, reason=reason, freed_bytes=size)
    finally:
        os.close(descriptor)


def _last_used(directory: Path) -> float:
    path = directory / USED
    return (path if path.exists() else directory / MARKER).stat().st_mtime


def _size(directory: Path) -> int:
    """Bytes on disk below `directory`, each file once: as its marker says, else counted; 0 when it is not there."""
    try:
        known = json.loads((directory / MARKER).read_text(encoding="utf-8")).get("size_bytes")
    except (OSError, ValueError, AttributeError):
        known = None
    return int(known) if isinstance(known, int) else measure(directory)
