"""The recorded sweeps pass today's gate and reach a verdict, under the hardware they were made on."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pipeline import steps
from pipeline.cli import samples
from pipeline.errors import GateFailed
from pipeline.records.block import read_starts
from pipeline.settings import REPOSITORY, load_settings
from pipeline.warehouse import queries
from pipeline.warehouse.database import open_warehouse

pytestmark = [
    pytest.mark.xdist_group("samples"),  # read once, asked by all
    pytest.mark.untraced,  # long records, short code: other tests walk it
]

# vLLM's engine died of the first draft in this release: a row with its reason, and a red sweep.
DIED = {"versions-cpu-20261130T223207Z": "0.30.0"}
SAMPLES = sorted(path.parent for path in (REPOSITORY / "samples").glob("*/sweep.json"))


def quiet(_text: str) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def loads(warehouse_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """What reading each sample said, by sweep; they stay in the module's database, which every test here asks."""
    copies = Path(shutil.copytree(REPOSITORY / "samples", tmp_path_factory.mktemp("samples") / "samples"))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WAREHOUSE_URL", warehouse_url)
        found = {}
        for sample in SAMPLES:
            blocks = sorted(path.parent for path in (copies / sample.name).glob("*/block.json"))
            found[sample.name] = [steps.ingest_block(str(block), report=quiet) for block in blocks]
            steps.analyze_sweep(sample.name, report=quiet)
        yield found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_published_whole(sample: Path, loads: dict[str, list[dict[str, Any]]]) -> None:
    assert [(load["state"], load["quarantined"], load["void"]) for load in loads[sample.name]] == [
        ("published", {}, 0) for _ in loads[sample.name]
    ]
    if (died := DIED.get(sample.name)) is not None:
        with pytest.raises(GateFailed, match=died):
            steps.check_sweep(str(sample), report=quiet)
    else:
        assert set(steps.check_sweep(str(sample), report=quiet)) == {"sweep_id", "measured"}


@pytest.mark.usefixtures("loads")
def test_the_trend_over_releases_has_both_arms_of_six_and_says_why_one_has_none(warehouse_url: str) -> None:
    rows = queries.trend_by_version(open_warehouse(warehouse_url))
    rows = rows[rows["hardware_kind"] == "cpu"]
    measured = rows[rows["latency_speedup"].notna()]
    assert measured.groupby("series_id")["engine_version"].nunique().tolist() == [6, 6]  # structured, creative
    assert measured["aa_log_ratio"].notna().all()
    lost = rows[rows["latency_speedup"].isna()]
    assert set(lost["engine_version"]) == {"0.30.0"}
    assert lost["reason"].str.contains("Cannot inspect kernel parameters").all()


@pytest.mark.usefixtures("loads")
def test_the_h200_is_called_what_it_is_and_its_engine_explains_itself(warehouse_url: str) -> None:
    with open_warehouse(warehouse_url).connect() as connection:
        gpus = connection.execute(
            text("select distinct architecture, label from warehouse.hardware where kind = 'gpu'")
        ).all()
        asked = text("select reasons from warehouse.verdicts where sweep_id like 'h200-smoke-%'")
        reasons = connection.execute(asked).scalars().all()
    assert [tuple(gpu) for gpu in gpus] == [("hopper", "1x NVIDIA H200")]
    assert all("the model runner differs: V2 in the baseline, V1 with speculation" in found for found in reasons)
    (block,) = (REPOSITORY / "samples").glob("h200-smoke-*/*/block.json")
    assert {start.facts.attention_backend for start in read_starts(block.parent)} == {"FLASH_ATTN"}


@pytest.mark.usefixtures("loads")
def test_dummy_weights_and_synthetic_acceptance_are_labelled_and_an_engine_is_faster_with_them(
    warehouse_url: str,
) -> None:
    rows = queries.sweep_verdicts(open_warehouse(warehouse_url), "h200-shapes-20261130T222508Z")
    assert set(rows["weights"]) == {"dummy"}
    assert set(rows["acceptance"]) == {"synthetic"}
    assert rows["mean_acceptance_length"].between(3.2, 3.5).all()  # 3.36 as set
    assert (rows["estimate"] > 1).all()


@pytest.mark.usefixtures("loads")
def test_the_instrument_saw_the_card_and_nothing_disturbed_it(warehouse_url: str) -> None:
    with open_warehouse(warehouse_url).connect() as connection:
        rows = connection.execute(
            text(
                "select energy_joules, sm_clock_mean_mhz, delivered_concurrency, concurrency, token_count_gap, "
                "chunk_token_gap, faults from warehouse.measurement inner join warehouse.cell using (cell_id) "
                "where sweep_id like 'h200-instrument-%'"
            )
        ).all()
    assert len(rows) == 3 * 15
    assert all(row.energy_joules > 0 and row.sm_clock_mean_mhz > 0 for row in rows)
    assert all(row.token_count_gap == 0 and row.chunk_token_gap == 0 for row in rows)
    assert all(row.delivered_concurrency >= 0.98 for row in rows if row.concurrency)
    assert {fault for row in rows for fault in row.faults} == set()


def test_the_demo_reads_each_sample_once(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    monkeypatch.setattr(samples, "SAMPLES", tmp_path)
    shutil.copytree(SAMPLES[0], tmp_path / SAMPLES[0].name)
    told: list[tuple[int, int]] = []
    first = samples.read_samples(load_settings(), report=quiet, progress=lambda done, of, _: told.append((done, of)))
    assert first == [SAMPLES[0].name]
    assert told == [(1, 1)]
    assert samples.read_samples(load_settings(), report=quiet, progress=None) == []
