"""The recorded sweeps pass today's gate and reach a verdict, under the hardware they were made on."""

import shutil
from pathlib import Path

import pytest
from sqlalchemy import text

from pipeline import steps
from pipeline.cli import samples
from pipeline.records.block import read_starts
from pipeline.settings import REPOSITORY, load_settings
from pipeline.warehouse.database import open_warehouse

SAMPLES = sorted(path.parent for path in (REPOSITORY / "samples").glob("*/sweep.json"))


def quiet(_text: str) -> None:
    """Report nothing."""


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_published_whole(
    sample: Path, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    copy = Path(shutil.copytree(sample, tmp_path / sample.name))
    for block in sorted(path.parent for path in copy.glob("*/block.json")):
        load = steps.ingest_block(str(block), report=quiet)
        assert (load["state"], load["quarantined"], load["void"]) == ("published", {}, 0)
    steps.analyze_sweep(sample.name, report=quiet)
    counts = steps.check_sweep(str(copy), report=quiet)
    assert set(counts) == {"sweep_id", "measured"}


def test_the_demo_reads_each_sample_once(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    monkeypatch.setattr(samples, "SAMPLES", tmp_path)
    shutil.copytree(SAMPLES[0], tmp_path / SAMPLES[0].name)
    told: list[tuple[int, int]] = []
    first = samples.read_samples(load_settings(), report=quiet, progress=lambda done, of, _: told.append((done, of)))
    assert first == [SAMPLES[0].name]
    assert told == [(1, 1)]
    assert samples.read_samples(load_settings(), report=quiet, progress=None) == []


def test_the_h200_is_called_what_it_is_and_its_engine_explains_itself(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = (REPOSITORY / "samples").glob("h200-smoke-*/*/block.json")
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    steps.ingest_block(str(block.parent), report=quiet)
    steps.analyze_sweep(block.parents[1].name, report=quiet)
    with open_warehouse(database_url).connect() as connection:
        (hardware,) = connection.execute(text("select kind, architecture, label from warehouse.hardware")).all()
        reasons = connection.execute(text("select reasons from warehouse.latest_verdicts")).scalars().all()
    assert tuple(hardware) == ("gpu", "hopper", "1x NVIDIA H200")
    assert all("the model runner differs: V2 in the baseline, V1 with speculation" in found for found in reasons)
    assert {start.facts.attention_backend for start in read_starts(block.parent)} == {"FLASH_ATTN"}
