"""What is known to be impossible stops a block before anything is fetched."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import steps
from pipeline.errors import EnvironmentFault
from pipeline.records.block import read_trouble
from pipeline.settings import REPOSITORY
from pipeline.steps import preparing
from tests.support.warehouse import GPU


def test_a_driver_too_old_for_the_release_stops_the_block_with_that_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPECWATCH_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(preparing, "find_hardware", lambda **_: replace(GPU, driver_version="570.86.10"))
    (block,) = steps.plan_sweep(str(REPOSITORY / "matrices" / "talk.yaml"), trigger="test")["blocks"]
    with pytest.raises(EnvironmentFault, match=r"NVIDIA driver is 570\.86\.10"):
        steps.prepare_block(block, report=lambda _: None)
    trouble = read_trouble(Path(block))
    assert trouble is not None
    assert "Update it, or take another release" in trouble.message
    assert not (tmp_path / "home" / "engines").exists()
