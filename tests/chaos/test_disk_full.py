"""The run directory's disk fills up: a sentence, nothing half-written, and the sweep goes on once there is room."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import steps
from pipeline.errors import EnvironmentFault
from pipeline.records.block import complete_repetitions
from pipeline.records.repetition import read_window
from tests.support.fake_matrix import make_fake_matrix


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    path = tmp_path / "small"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(path)], check=False, capture_output=True, text=True
    )
    if os.geteuid() != 0 or mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk_stops_the_sweep_with_a_sentence_and_it_goes_on_later(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPECWATCH_RUNS", str(small_disk))
    monkeypatch.setenv("SPECWATCH_LOCKS", str(tmp_path / "locks"))
    plan = steps.plan_sweep(str(make_fake_matrix(tmp_path)), trigger="test")
    (block,) = plan["blocks"]
    with pytest.raises(EnvironmentFault, match=r"disk is full: .*Free space there"):
        steps.bench_block(block, report=lambda _: None, watch_ancestors=False)
    kept = [path for path, _ in complete_repetitions(Path(block))]
    for path in kept:
        read_window(path)  # what is complete is whole
    assert not list(small_disk.rglob("*.partial"))

    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert steps.bench_block(block, report=lambda _: None, watch_ancestors=False)["measured"] == 8
    done = [path for path, _ in complete_repetitions(Path(block))]
    assert len(done) == 16
    assert set(kept) <= set(done)
