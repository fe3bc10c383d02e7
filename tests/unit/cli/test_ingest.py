"""Where `specwatch ingest` looks for run directories."""

from pathlib import Path

import pytest

from pipeline.cli.ingest import blocks_under
from pipeline.errors import UserError


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for block in ("night-1/01", "night-1/02", "night-2/01"):
        (tmp_path / block).mkdir(parents=True)
        (tmp_path / block / "block.json").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("night-1/02", ["night-1/02"]),
        ("night-1", ["night-1/01", "night-1/02"]),
        (".", ["night-1/01", "night-1/02", "night-2/01"]),
    ],
)
def test_a_block_a_sweep_or_all_runs(runs: Path, path: str, found: list[str]) -> None:
    assert blocks_under(runs / path) == [runs / block for block in found]


def test_a_directory_without_any_is_named(runs: Path) -> None:
    with pytest.raises(UserError, match=r"holds no run directory \(no block\.json in it\)"):
        blocks_under(runs / "night-1" / "01" / "deeper")
