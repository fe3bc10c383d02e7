"""What a plan knows beforehand, from a matrix, this machine and earlier run directories."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.block import LAYOUT_VERSION, CellOutcome
from pipeline.domain.engine import EngineFacts
from pipeline.domain.hardware import Hardware
from pipeline.domain.server_start import ServerStart
from pipeline.errors import EnvironmentFault
from pipeline.plan.estimate import Accelerator
from pipeline.records import files
from pipeline.records.block import Host, SweepPlan, append_host, write_result, write_start, write_sweep
from pipeline.records.layout import BLOCK_FILE, HOST_FILE, RESULT_FILE, attempt_directory
from pipeline.records.repetition import Window, write_repetition
from pipeline.settings import Settings, load_settings
from pipeline.steps import forecasting
from pipeline.steps.forecasting import accelerator_of, forecast, history, models_of, recorded
from pipeline.steps.planning import expand_matrix, plan_blocks

SMOKE = "matrices/smoke.yaml"
TALK = "matrices/talk.yaml"
HARDWARE = Hardware(
    kind="gpu",
    name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
    architecture="blackwell",
    compute_capability="12.0",
    accelerators=1,
    memory_bytes=96 << 30,
    driver_version="580",
    cuda_version="13.0",
    host_cpu="x",
    logical_cpus=2,
)
HERE = Accelerator(name="RTX PRO 6000 Blackwell")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return load_settings({"SPECWATCH_HOME": str(tmp_path), "SPECWATCH_RUNS": str(tmp_path / "runs")})


def window(*, seconds: float) -> Window:
    return Window(
        requests=(),
        before="",
        after="",
        started_at="2026-01-01T00:00:00+00:00",
        started_at_s=0.0,
        ended_at_s=seconds,
        origin_ns=0,
        client_cpu_s=0.0,
    )


def record(settings: Settings, *, sweep_id: str = "talk-1", seconds: float = 10.0, ready_s: float = 90.0) -> list[str]:
    """Write one measured repetition of every baseline cell of talk.yaml; return the ids of their series."""
    expansion = expand_matrix(TALK, overrides={})
    sweep, (block,) = plan_blocks(expansion, sweep_id=sweep_id, trigger="test", planned_at="2026-01-01T00:00:00+00:00")
    plan = SweepPlan(layout_version=LAYOUT_VERSION, sweep=sweep, blocks=(block.block_id,))
    (directory,) = write_sweep(settings.runs / sweep_id, plan, [block], workloads=expansion.workloads)
    append_host(directory, Host(HARDWARE, (), {}, "h", "2026-01-01T00:00:00+00:00"))
    opening = block.starts[0]
    attempt = attempt_directory(directory, opening, 1)
    start = ServerStart(
        LAYOUT_VERSION, 0, 1, "opening", "none", (), {}, "2026-01-01T00:00:00+00:00", ready_s, EngineFacts()
    )
    write_start(attempt, start)
    for cell in opening.cells:
        write_repetition(
            attempt / cell.cell_id / "0",
            window(seconds=seconds),
            start_index=0,
            attempt=1,
            position="opening",
            cell_id=cell.cell_id,
            repetition=0,
        )
    measured = [CellOutcome(0, cell.cell_id, "measured") for cell in opening.cells]
    write_result(directory, block, measured, [])
    return [cell.series_id for cell in opening.cells]


def test_what_was_recorded_on_the_same_hardware_is_taken(settings: Settings) -> None:
    series = record(settings, seconds=10.0)
    record(settings, sweep_id="talk-2", seconds=20.0, ready_s=110.0)
    found = recorded(settings, accelerator=HERE)
    assert found.window_s == pytest.approx(dict.fromkeys(series, 15.0))
    assert found.start_s == {("cuda", "llama-3.1-8b-instruct"): 100.0}


@pytest.mark.parametrize("other", [None, Accelerator(name="H200"), Accelerator(name="cpu")])
def test_records_of_other_hardware_tell_nothing(settings: Settings, other: Accelerator | None) -> None:
    record(settings)
    assert recorded(settings, accelerator=other).window_s == {}


@pytest.mark.parametrize("name", [BLOCK_FILE, HOST_FILE, RESULT_FILE, "starts/00-opening-none/1/start.json"])
def test_a_damaged_run_directory_stops_no_plan(settings: Settings, name: str) -> None:
    record(settings)
    (damaged,) = (settings.runs / "talk-1").glob(f"*/{name}")
    files.write_bytes(damaged, b"{")
    assert recorded(settings, accelerator=HERE).start_s == {} or name == RESULT_FILE
    assert history(settings) is None or name != RESULT_FILE


def test_history_is_what_was_measured_and_when(settings: Settings) -> None:
    assert history(settings) is None
    record(settings)
    found = history(settings)
    assert found is not None
    assert found.engines == {"0.32.0-cuda"}
    assert len(found.measured_at) == 6
    assert found.undecided == frozenset()


def test_a_warehouse_that_is_away_stops_no_plan(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object) -> frozenset[str]:
        raise EnvironmentFault("the warehouse is away")

    monkeypatch.setattr("pipeline.warehouse.queries.undecided_cells", away)
    assert history(replace(settings, warehouse_url="postgresql://h/d")) is None


def test_undecided_cells_come_from_the_warehouse(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.warehouse.queries.undecided_cells", lambda _: frozenset({"c"}))
    found = history(replace(settings, warehouse_url="postgresql://h/d"))
    assert found is not None
    assert found.undecided == {"c"}


def test_the_accelerator_is_the_stated_one_or_the_one_found(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = accelerator_of(expand_matrix(TALK, overrides={}))
    assert stated is not None
    assert (stated.name, stated.memory_bytes) == ("RTX PRO 6000 Blackwell", 96 << 30)
    assert stated.bandwidth_bytes_per_s == 1792e9
    found = accelerator_of(expand_matrix(SMOKE, overrides={}))
    assert found is not None
    assert found.name.startswith("cpu")

    def none(**_: object) -> None:
        raise EnvironmentFault("no GPU")

    monkeypatch.setattr(forecasting, "find_hardware", none)
    assert accelerator_of(expand_matrix(SMOKE, overrides={})) is None


def test_sizes_and_lengths_are_known_before_anything_is_here(settings: Settings) -> None:
    expansion = expand_matrix(SMOKE, overrides={})
    known = forecast(expansion, settings=settings)
    target, draft = models_of(expansion)
    assert (known.places[target], known.places[draft]) == (None, None)
    shape = known.shape(target)
    assert shape is not None
    assert shape.layers == 30
    assert all(5 < tokens < 500 for tokens in known.clock.prompt_tokens.values())
