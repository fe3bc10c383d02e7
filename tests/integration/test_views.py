"""What the views answer, with arithmetic small enough to see."""

from dataclasses import replace
from datetime import date
from math import log

import pytest
from sqlalchemy import Engine, text

from pipeline.domain.engine import Engine as VllmRelease
from pipeline.warehouse import queries
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import stage
from pipeline.warehouse.publish import publish
from pipeline.warehouse.summaries import SUMMARIES
from tests.support import warehouse as build

ARM = build.cell().cell_id
OLD = VllmRelease(version="0.9.2", platform="cpu")


@pytest.fixture
def engine(rolled_back: Engine) -> Engine:
    return rolled_back


def load(engine: Engine, *, sweep_id: str = "s1", day: int = 1, release: VllmRelease = build.ENGINE, **how) -> None:
    planned = build.block(of=build.sweep(sweep_id, day=day), engine=release)
    publish(engine, stage(engine, build.block_load(planned, **how)))


def conclude(
    engine: Engine,
    *,
    sweep_id: str = "s1",
    release: VllmRelease = build.ENGINE,
    estimate: float = 2.0,
    hardware=build.CPU,
):
    cell_id = build.cell(engine=release).cell_id
    metrics = ("latency_speedup", "decode_speedup", "throughput_speedup")
    speedups = [
        build.speedup(cell_id, sweep_id=sweep_id, hardware=hardware, metric=m, estimate=estimate) for m in metrics
    ]
    write_derived(
        engine,
        sweep_id,
        speedups=speedups,
        verdicts=[build.verdict(cell_id, sweep_id=sweep_id, hardware=hardware, estimate=estimate)],
    )


def test_noise_floor_is_closing_over_opening_latency_a_token(engine: Engine) -> None:
    load(engine, closing_factor=1.1)
    row = queries.noise_floor(engine).iloc[0]
    assert row["opening_ms_per_token"] == pytest.approx(1000 / 10)
    assert row["aa_log_ratio"] == pytest.approx(log(1.1))


def test_noise_floor_takes_the_last_attempt_of_a_reopened_block(engine: Engine) -> None:
    planned = build.block()
    first = build.block_load(planned)
    again = {key: replace(key, attempt=2) for start, key in build.keys(planned) if start.position == "opening"}
    publish(
        engine,
        stage(
            engine,
            replace(
                first,
                starts=(*first.starts, build.server_start(planned.starts[0], attempt=2)),
                measurements=first.measurements
                + tuple(replace(m, key=again[m.key]) for m in first.measurements if m.key in again),
                requests=[
                    *first.requests,
                    *((again[k], replace(r, e2e_latency_ms=2000.0)) for k, r in first.requests if k in again),
                ],
            ),
        ),
    )
    assert queries.noise_floor(engine).iloc[0]["aa_log_ratio"] == pytest.approx(log(1000 / 2000))


def test_summarizing_a_fresh_night_finds_each_repetition_by_its_whole_key(engine: Engine) -> None:
    load(engine)
    select = (SUMMARIES / "aa_pair.sql").read_text().rstrip().removesuffix(";")
    bound = {"sweep_id": "s1", "block_id": "b1", "sweep_date": date(2026, 1, 1)}
    with engine.begin() as connection:
        connection.execute(text("set local enable_seqscan = off"))  # which it may do with so few rows
        plan = "\n".join(connection.execute(text(f"explain {select}"), bound).scalars())
    assert "(cell_id = m.cell_id) AND (repetition = m.repetition) AND (sweep_date = " in plan


def test_a_missing_closing_baseline_is_null_not_zero(engine: Engine) -> None:
    whole = build.block_load()
    keep = [m for m in whole.measurements if m.position != "closing"]
    kept = {m.key for m in keep}
    partial = replace(whole, measurements=tuple(keep), requests=[(k, r) for k, r in whole.requests if k in kept])
    publish(engine, stage(engine, partial))
    assert queries.noise_floor(engine)["aa_log_ratio"].isna().all()


def test_a_verdict_row_carries_interval_acceptance_and_both_figures(engine: Engine) -> None:
    load(engine)
    conclude(engine)
    row = queries.latest_verdicts(engine).iloc[0]
    assert (row["verdict"], row["estimate"], row["decode_speedup"]) == ("worth_it", 2.0, 2.0)
    assert (row["baseline_value"], row["speculative_value"], row["unit"]) == (100.0, 50.0, "ms/token")
    assert row["acceptance_rate"] == (12 + 12) / (24 + 24)
    assert row["mean_acceptance_length"] == 1 + (12 + 12) / (6 + 6)
    assert row["tokens_per_step"] == (20 + 20 - 2 - 2) / (6 + 6)
    assert row["prefill_share"] == pytest.approx(100 / 1000)
    assert row["repetitions"] == 2
    assert row["reasons"] == ["half of the drafted tokens are accepted"]


def test_acceptance_is_null_when_nothing_was_drafted(engine: Engine) -> None:
    nothing = dict.fromkeys(build.DRAFTED) | {"drafts": 0, "drafted_tokens": 0, "accepted_tokens": 0}
    whole = build.block_load(acceptance=())
    silent = tuple(
        replace(m, metrics=build.METRICS | nothing) if m.position == "arm" else m for m in whole.measurements
    )
    publish(engine, stage(engine, replace(whole, measurements=silent)))
    row = queries.latest_verdicts(engine).iloc[0]
    assert row[["acceptance_rate", "mean_acceptance_length", "tokens_per_step"]].isna().all()


def test_latest_is_the_latest_sweep_even_when_it_failed_to_decide(engine: Engine) -> None:
    load(engine)
    conclude(engine)
    load(engine, sweep_id="s2", day=2)
    row = queries.latest_verdicts(engine).iloc[0]
    assert row["sweep_id"] == "s2"
    assert row["verdict"] is None


def test_hardware_is_never_mixed(engine: Engine) -> None:
    load(engine)
    conclude(engine)
    load(engine, sweep_id="s2", day=2, hardware=build.GPU)
    conclude(engine, sweep_id="s2", estimate=3.0, hardware=build.GPU)
    found = queries.latest_verdicts(engine).set_index("hardware_kind")["estimate"]
    assert found.to_dict() == {"cpu": 2.0, "gpu": 3.0}
    only = queries.latest_verdicts(engine, hardware_id=build.GPU.hardware_id)
    assert only["hardware_kind"].tolist() == ["gpu"]


def test_a_trend_follows_releases_in_their_order_not_their_spelling(engine: Engine) -> None:
    load(engine)
    conclude(engine)
    load(engine, sweep_id="s2", day=2, release=OLD)
    conclude(engine, sweep_id="s2", release=OLD, estimate=1.5)
    trend = queries.trend_by_version(engine)
    assert trend["series_id"].nunique() == 1
    assert trend[["engine_version", "latency_speedup"]].to_numpy().tolist() == [["0.9.2", 1.5], ["0.32.0", 2.0]]


def test_a_trend_shows_both_arms_and_their_engines(engine: Engine) -> None:
    load(engine)
    row = queries.trend_by_version(engine).iloc[0]
    assert (row["baseline_step_time_ms"], row["speculative_step_time_ms"]) == (100.0, 150.0)
    assert (row["baseline_output_tokens_per_s"], row["baseline_tpot_mean_ms"]) == (20 / 2.0, 100.0)
    assert (row["baseline_async_scheduling"], row["speculative_async_scheduling"]) == (True, False)
    assert row["speculative_model_runner"] == "V1"
    assert row["baseline_starts"] == 2


def test_the_last_sweep_with_a_speedup_stands_for_its_release(engine: Engine) -> None:
    for day, sweep_id in enumerate(("s1", "s2", "s3"), start=1):
        load(engine, sweep_id=sweep_id, day=day)
    assert queries.trend_by_version(engine, stands_for_release=True)["sweep_id"].tolist() == ["s3"]  # none has one
    conclude(engine, sweep_id="s1", estimate=1.5)
    conclude(engine, sweep_id="s2", estimate=1.6)
    assert queries.trend_by_version(engine, stands_for_release=True)["latency_speedup"].tolist() == [1.6]
    write_derived(engine, "s2", speedups=[], verdicts=[])
    assert queries.trend_by_version(engine, stands_for_release=True)["latency_speedup"].tolist() == [1.5]
    assert queries.latest_verdicts(engine)["sweep_id"].tolist() == ["s3"]


def test_every_release_on_every_machine_is_stood_for(engine: Engine) -> None:
    load(engine)
    load(engine, sweep_id="s2", day=2, release=OLD)
    load(engine, sweep_id="s3", day=3, hardware=build.GPU)
    found = queries.trend_by_version(engine, stands_for_release=True)
    assert sorted(found["sweep_id"]) == ["s1", "s2", "s3"]


def test_a_scope_is_a_release_of_a_target_on_a_machine_the_latest_first(engine: Engine) -> None:
    load(engine)
    load(engine, sweep_id="again", day=2)
    load(engine, sweep_id="old", day=3, release=OLD)
    load(engine, sweep_id="gpu", day=4, hardware=build.GPU)
    rows = queries.scopes(engine)[["hardware_kind", "target", "engine_version", "weights", "acceptance", "cells"]]
    assert rows.to_numpy().tolist() == [
        ["gpu", "tiny", "0.32.0", "real", "real", 1],
        ["cpu", "tiny", "0.9.2", "real", "real", 1],
        ["cpu", "tiny", "0.32.0", "real", "real", 1],
    ]


@pytest.mark.parametrize(
    "other", [{"target": "t"}, {"weights": "dummy"}, {"acceptance": "synthetic"}, {"hardware_id": "h"}]
)
def test_verdicts_and_trend_are_of_one_scope(engine: Engine, other: dict[str, str]) -> None:
    load(engine)
    (scope,) = queries.scopes(engine)[["hardware_id", "target", "weights", "acceptance"]].to_dict("records")
    assert len(queries.latest_verdicts(engine, **scope)) == 1
    assert len(queries.trend_by_version(engine, **scope)) == 1
    assert queries.latest_verdicts(engine, **scope | other).empty
    assert queries.trend_by_version(engine, **scope | other).empty


def test_a_night_counts_cells_and_verdicts(engine: Engine) -> None:
    load(engine, closing_factor=0.9)
    conclude(engine, estimate=0.5)
    row = queries.night_summary(engine).iloc[0]
    assert (row["cells"], row["measured"], row["worth_it"], row["undecided"], row["harmful"]) == (2, 2, 0, 1, 1)
    assert row["worst_aa_log_ratio"] == pytest.approx(log(0.9))


def test_aa_pairs_are_of_this_sweep_and_earlier_ones_alike(engine: Engine) -> None:
    load(engine, sweep_id="s1", day=1, closing_factor=1.1)
    load(engine, sweep_id="s2", day=2, closing_factor=1.2)
    load(engine, sweep_id="later", day=3, closing_factor=1.3)
    load(engine, sweep_id="other", day=1, closing_factor=1.5, hardware=build.GPU)
    dummy = build.block(of=build.sweep("dummy"), target=replace(build.TARGET, weights="dummy"))
    publish(engine, stage(engine, build.block_load(dummy, closing_factor=1.7)))
    pairs = [(row["sweep_id"], row["aa_log_ratio"]) for row in queries.aa_pairs(engine, "s2")]
    assert pairs == [("s1", pytest.approx(log(1.1))), ("s2", pytest.approx(log(1.2)))]


def test_paired_requests_carry_what_pairs_them(engine: Engine) -> None:
    load(engine)
    rows = queries.paired_requests(engine, "s1")
    assert len(rows) == 3 * 2 * 2
    assert {row["baseline_cell_id"] for row in rows} == {build.cell(build.BASE).cell_id}
    assert [row["is_baseline"] for row in rows if row["position"] == "arm"] == [False] * 4
    assert rows[0]["started_at"] == 1767232800.0  # 2026-01-01T02:00:00Z


def test_cell_measurements_join_cell_method_and_start(engine: Engine) -> None:
    load(engine)
    arm = next(row for row in queries.cell_measurements(engine, "s1") if row["cell_id"] == ARM)
    assert (arm["num_speculative_tokens"], arm["acceptance"], arm["model_runner"]) == (4, "real", "V1")
    assert (arm["output_tokens"], arm["max_output_tokens"]) == (20, 10)


def test_hardware_measured_lists_what_there_is(engine: Engine) -> None:
    assert queries.hardware_measured(engine) == []
    load(engine)
    assert [row["kind"] for row in queries.hardware_measured(engine)] == ["cpu"]


def test_concluding_again_replaces_what_was_concluded(engine: Engine) -> None:
    load(engine)
    conclude(engine, estimate=2.0)
    conclude(engine, estimate=3.0)
    assert queries.sweep_verdicts(engine, "s1")["estimate"].tolist() == [3.0]
    write_derived(engine, "s1", speedups=[], verdicts=[])
    assert queries.sweep_verdicts(engine, "s1")["estimate"].isna().all()
