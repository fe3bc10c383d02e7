"""Every matrix that we ship is planned completely here, without a GPU and without a network."""

from pathlib import Path

import pytest

from pipeline.settings import REPOSITORY
from pipeline.steps.previewing import Preview, preview

MATRICES = sorted((REPOSITORY / "matrices").glob("*.yaml"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("SPECWATCH_RUNS", "WAREHOUSE_URL", "WAREHOUSE_URL_FILE"):
        monkeypatch.delenv(name, raising=False)
    # the one question that needs a network: which release is the latest
    monkeypatch.setattr("pipeline.steps.resolving.resolve_versions", _resolved)


def _resolved(spec: str, *, platform: str) -> tuple[str, ...]:
    return ("0.32.0",) if spec == "latest" else (spec,)


@pytest.fixture(params=MATRICES, ids=lambda path: path.stem)
def planned(request: pytest.FixtureRequest) -> Preview:
    return preview(str(request.param), overrides={})


def test_every_arm_has_a_command_or_every_cell_of_it_a_reason(planned: Preview) -> None:
    for block in planned.blocks:
        assert block.arms or block.block.skipped
        for arm in block.arms:
            assert arm.argv[1:3] == ("-m", "vllm.entrypoints.openai.api_server")
            assert arm.start.method.is_baseline == ("--speculative-config" not in arm.argv)
        assert all(skip.reason for skip in block.block.skipped)


def test_every_arm_fits_the_hardware_it_is_planned_for(planned: Preview) -> None:
    fits = [arm.fit for block in planned.blocks for arm in block.arms]
    assert {fit.state for fit in fits} == {"fits"}, [fit.reason for fit in fits if fit.state != "fits"]


def test_it_stays_within_its_budget_without_leaving_anything_out(planned: Preview) -> None:
    assert planned.seconds > 0
    if planned.budget_hours is None:
        return
    assert planned.seconds <= planned.budget_hours * 3600
    assert [skip.reason for b in planned.blocks for skip in b.block.skipped if skip.reason.startswith("budget")] == []


def test_a_night_has_every_kind_of_draft_and_loads_from_one_to_128() -> None:
    night = preview(str(REPOSITORY / "matrices" / "nightly.yaml"), overrides={})
    starts = [arm.start for block in night.blocks for arm in block.arms]
    assert {start.method.method for start in starts} == {"none", "ngram", "draft_model", "eagle3", "mtp"}
    cells = [cell for start in starts for cell in start.cells]
    assert {cell.concurrency for cell in cells} == {1, 8, 32, 128}
    assert all(cell.prompts >= 2 * (cell.concurrency or 0) for cell in cells)
    assert len({block.block.engine.version for block in night.blocks}) == 2
