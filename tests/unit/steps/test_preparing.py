"""What is known to be impossible stops a block before anything is fetched."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import steps
from pipeline.domain.engine import Engine
from pipeline.engines.install import InstalledEngine
from pipeline.errors import EnvironmentFault
from pipeline.records.block import read_block, read_trouble
from pipeline.settings import REPOSITORY, load_settings
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


def test_an_arm_whose_package_cannot_be_had_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPECWATCH_RUNS", str(tmp_path / "runs"))
    engine = InstalledEngine(Engine("0.32.0", "cuda"), Path("/e/bin/python"), {})
    asked: list[tuple[str, ...]] = []

    def add(_: InstalledEngine, wanted: tuple[str, ...], **__: object) -> InstalledEngine:
        asked.append(wanted)
        message = "no compiler here"
        raise EnvironmentFault(message)

    monkeypatch.setattr(preparing, "install", lambda *_, **__: engine)
    monkeypatch.setattr(preparing, "add", add)
    text = (REPOSITORY / "matrices" / "talk.yaml").read_text(encoding="utf-8")
    arm = "  - {name: suffix-k4, method: suffix, num_speculative_tokens: 4}\n"
    (tmp_path / "m.yaml").write_text(text.replace("methods:\n", f"methods:\n{arm}"))
    (planned,) = steps.plan_sweep(str(tmp_path / "m.yaml"), trigger="test")["blocks"]
    said: list[str] = []
    found = preparing.complete_engine(read_block(Path(planned)), settings=load_settings(), report=said.append)
    assert found == engine
    assert asked == [("arctic-inference==0.1.1",)]
    assert said == ["warning: no compiler here"]
