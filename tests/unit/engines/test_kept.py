"""Engines on disk: listed with what they take, removed when nobody needs them, never while in use."""

import fcntl
import os
from pathlib import Path

import pytest

from pipeline.engines.install import MARKER, installed
from pipeline.engines.kept import USED, Pruning, kept_engines, prune, using
from tests.support.fake_vllm.engine import install_fake_engine

NOW, DAY = 1_000_000_000.0, 86400.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three engines: used 1 day ago, 40 days ago, and never since their installation 50 days ago."""
    root = tmp_path / "engines"
    for version, days in (("0.32.0", 1), ("0.31.0", 40), ("0.30.0", 50)):
        engine = install_fake_engine(root, version=version)
        directory = root / engine.engine_id
        at = NOW - days * DAY
        os.utime(directory / MARKER, (NOW - 50 * DAY, NOW - 50 * DAY))
        if days != 50:
            (directory / USED).touch()
            os.utime(directory / USED, (at, at))
    (tmp_path / "cache" / "0.31.0-cpu").mkdir(parents=True)
    (tmp_path / "cache" / "0.31.0-cpu" / "graph").write_bytes(b"x" * 5000)
    return root


def pruned(root: Path, *, pinned: tuple[str, ...] = (), days: float = 30, dry_run: bool = False) -> dict[str, Pruning]:
    caches = root.parent / "cache"
    done = prune(root, caches=caches, pinned=pinned, older_than_days=days, now_s=NOW, dry_run=dry_run)
    return {found.engine.version: found for found in done}


def test_each_is_listed_with_its_size_its_caches_and_its_last_use(root: Path) -> None:
    found = {kept.installed.engine.version: kept for kept in kept_engines(root, caches=root.parent / "cache")}
    assert {version: round((NOW - kept.last_used_s) / DAY) for version, kept in found.items()} == {
        "0.30.0": 50,
        "0.31.0": 40,
        "0.32.0": 1,
    }
    assert all(kept.size_bytes > 0 for kept in found.values())
    assert found["0.31.0"].cache_bytes >= 5000
    assert found["0.32.0"].cache_bytes == 0


def test_what_nobody_used_lately_goes_with_its_caches(root: Path) -> None:
    done = pruned(root)
    assert {version: found.removed for version, found in done.items()} == {
        "0.30.0": True,
        "0.31.0": True,
        "0.32.0": False,
    }
    assert sorted(path.name for path in root.glob("*-cpu")) == ["0.32.0-cpu"]
    assert not (root.parent / "cache" / "0.31.0-cpu").exists()
    assert done["0.31.0"].freed_bytes > 5000
    assert "used 1 days ago" in done["0.32.0"].reason


def test_a_dry_run_says_the_same_and_removes_nothing(root: Path) -> None:
    assert pruned(root, dry_run=True)["0.30.0"].removed
    assert (root / "0.30.0-cpu" / MARKER).exists()


def test_a_version_that_is_pinned_stays(root: Path) -> None:
    assert pruned(root, pinned=("0.30.0",))["0.30.0"] == Pruning(
        engine=pruned(root, pinned=("0.30.0",))["0.30.0"].engine,
        removed=False,
        reason="a matrix names it",
        freed_bytes=0,
    )


def test_an_engine_in_use_stays_however_old(root: Path) -> None:
    (oldest,) = [k.installed for k in kept_engines(root, caches=root) if k.installed.engine.version == "0.30.0"]
    with using(oldest, root=root):
        assert pruned(root, days=-1e9)["0.30.0"].reason == "in use right now"
    assert pruned(root, days=-1e9)["0.30.0"].removed
    assert installed(oldest.engine, root=root) is None


def test_what_a_killed_installer_left_goes_whatever_its_version_unless_it_is_being_made(root: Path) -> None:
    left, made, strange = root / "0.29.0-cuda", root / "0.28.0-cpu", root / "notes-cpu"
    for directory in (left, made, strange):
        directory.mkdir()
        (directory / "pyvenv.cfg").write_bytes(b"x" * 5000)
    with (root / ".0.28.0-cpu.lock").open("w") as installing:
        fcntl.flock(installing, fcntl.LOCK_EX)
        done = pruned(root, pinned=("0.29.0", "0.30.0", "0.31.0"))
    assert (done["0.29.0"].removed, done["0.29.0"].freed_bytes > 0, left.exists()) == (True, True, False)
    assert "half-made" in done["0.29.0"].reason
    assert (done["0.28.0"].removed, made.exists()) == (False, True)
    assert strange.exists()


def test_use_is_noted(root: Path) -> None:
    (oldest,) = [k.installed for k in kept_engines(root, caches=root) if k.installed.engine.version == "0.30.0"]
    with using(oldest, root=root):
        pass
    assert (root / "0.30.0-cpu" / USED).stat().st_mtime > NOW
