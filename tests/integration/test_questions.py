"""What the views beside verdicts and trend answer, with arithmetic small enough to see."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from pipeline.domain.block import CellOutcome
from pipeline.domain.engine import Engine as VllmRelease
from pipeline.domain.engine import EngineFacts
from pipeline.domain.validation import ValidationOutcome
from pipeline.warehouse import questions
from pipeline.warehouse.derived import write_derived
from pipeline.warehouse.load import BlockLoad, stage
from pipeline.warehouse.publish import publish, record_validation
from tests.support import warehouse as build

ARM = build.cell().cell_id
OLD = VllmRelease(version="0.9.2", platform="cpu")


@pytest.fixture
def engine(rolled_back: Engine) -> Engine:
    return rolled_back


def load(engine: Engine, block: BlockLoad) -> str:
    load_id = stage(engine, block)
    publish(engine, load_id)
    return load_id


def curve(engine: Engine, **speedups: float) -> None:
    """Load and conclude one sweep with a latency speedup at each concurrency, named c1, c2, ..."""
    estimates = {int(name.removeprefix("c")): value for name, value in speedups.items()}
    load(engine, build.block_load(build.block(concurrencies=tuple(estimates))))
    found = [build.speedup(build.cell(concurrency=c).cell_id, estimate=value) for c, value in estimates.items()]
    write_derived(engine, "s1", speedups=found, verdicts=[])


def test_break_even_lies_where_the_log_speedup_crosses_zero(engine: Engine) -> None:
    curve(engine, c1=4.0, c4=2.0, c16=0.5)
    row = questions.break_even(engine).iloc[0]
    # log2 c from 2 to 4, ln s from ln 2 to -ln 2: zero in the middle, at log2 c = 3
    assert row["break_even_concurrency"] == pytest.approx(8)
    assert (row["found"], row["points"], row["certain"]) == ("within the measured range", 3, True)


@pytest.mark.parametrize(
    ("speedups", "found"),
    [
        ({"c1": 3.0, "c4": 2.0}, "above the measured range"),
        ({"c1": 0.8, "c4": 0.5}, "below the measured range"),
        ({"c1": 2.0, "c4": 0.5, "c16": 2.0}, "not monotone"),
        ({"c1": 0.5, "c4": 2.0}, "not monotone"),
        ({"c1": 2.0}, "one concurrency measured"),
    ],
)
def test_without_one_crossing_break_even_says_what_is_seen(engine: Engine, speedups: dict, found: str) -> None:
    curve(engine, **speedups)
    row = questions.break_even(engine).iloc[0]
    assert row["found"] == found
    assert row[["break_even_concurrency", "certain"]].isna().all()


def test_acceptance_by_position_is_of_all_drafts_and_of_those_that_got_there(engine: Engine) -> None:
    load(engine, build.block_load())  # 2 repetitions of 6 drafts; 5, 4, 2 and 1 accepted by position
    rows = questions.acceptance_profile(engine, sweep_id="s1")
    assert rows["drafts"].tolist() == [12] * 4
    assert rows["unconditional"].tolist() == [5 / 6, 4 / 6, 2 / 6, 1 / 6]
    assert rows["conditional"].tolist() == [5 / 6, 4 / 5, 2 / 4, 1 / 2]


def test_cost_and_tax_are_those_of_both_arms(engine: Engine) -> None:
    whole = build.block_load()
    paid = {"energy_joules": 40.0, "usd_per_gpu_hour": 2.0}
    measured = tuple(
        replace(
            m,
            metrics={
                **m.metrics,
                **paid,
                "usd_per_million_output_tokens": 3.0 if m.position == "arm" else 6.0,
                "kv_cache_tokens_lost": 100 if m.position == "arm" else None,
                "users_lost": 2.5 if m.position == "arm" else None,
            },
        )
        for m in whole.measurements
    )
    load(engine, replace(whole, measurements=measured))
    row = questions.cost(engine, sweep_id="s1").iloc[0]
    assert row["speculative_joules_per_output_token"] == 40 / 20
    assert (row["energy_saving"], row["money_saving"]) == (1.0, 6 / 3)
    tax = questions.vram_tax(engine, latest=True).iloc[0]
    assert (tax["kv_cache_tokens_lost"], tax["users_lost"]) == (100, 2.5)


def test_an_incident_is_counted_by_release_and_reason(engine: Engine) -> None:
    for day, sweep in enumerate(("s1", "s2"), start=1):
        whole = build.block_load(build.block(of=build.sweep(sweep, day=day)))
        failed = CellOutcome(1, ARM, "failed", "it ran out of memory", "out_of_memory")
        gone = replace(
            whole,
            outcomes=(*(o for o in whole.outcomes if o.cell_id != ARM), failed),
            measurements=tuple(m for m in whole.measurements if m.key.cell_id != ARM),
            acceptance=(),
            requests=[(key, row) for key, row in whole.requests if key.cell_id != ARM],
        )
        load(engine, gone)
    (row,) = questions.incidents(engine, engine_version="0.32.0").to_dict("records")
    assert (row["status"], row["failure"], row["outcomes"], row["sweeps"]) == ("failed", "out_of_memory", 2, 2)
    assert (row["last_sweep_id"], row["methods"]) == ("s2", "ngram-k4")


def test_data_quality_is_what_the_gate_said_of_the_last_load(engine: Engine) -> None:
    said = ValidationOutcome(
        "ttft_positive", "request.ttft_ms", "critical", False, {"failing": 3}, ("c",), "not above 0"
    )
    for _ in range(2):
        load_id = load(engine, build.block_load())
        record_validation(engine, load_id, [said])
    with engine.begin() as connection:
        connection.execute(
            text("update warehouse.load set created_at = created_at - interval '1 h' where load_id <> :last"),
            {"last": load_id},
        )
    (row,) = questions.data_quality(engine, success=False).to_dict("records")
    assert (row["load_id"], row["failing_rows"], row["failing_cells"]) == (load_id, 3, 1)
    assert len(questions.data_quality(engine, last_load=None)) == 2


def test_confounders_name_the_fact_and_both_sides(engine: Engine) -> None:
    def with_runner(block: BlockLoad, runner: str) -> BlockLoad:
        facts = EngineFacts(model_runner=runner, async_scheduling=True, kv_cache_tokens=7)
        starts = tuple(
            replace(s, facts=facts if s.position == "arm" else replace(facts, model_runner="V1")) for s in block.starts
        )
        return replace(block, starts=starts)

    load(engine, with_runner(build.block_load(build.block(of=build.sweep("old"), engine=OLD)), "V1"))
    load(engine, with_runner(build.block_load(build.block(of=build.sweep("new", day=2))), "V2"))
    assert questions.confounders(engine, "old").empty
    rows = questions.confounders(engine, "new")[["compared_with", "other_version", "fact", "value", "other_value"]]
    assert [tuple(row) for row in rows.to_numpy()] == [
        ("baseline", "0.32.0", "model_runner", "V2", "V1"),
        ("release before", "0.9.2", "model_runner", "V2", "V1"),
    ]


def test_the_newest_release_of_each_series_is_marked(engine: Engine) -> None:
    from pipeline.warehouse import queries

    load(engine, build.block_load(build.block(of=build.sweep("new"))))
    load(engine, build.block_load(build.block(of=build.sweep("old", day=2), engine=OLD)))
    assert queries.latest_verdicts(engine)["newest_engine"].tolist() == [True, False]
    assert queries.latest_verdicts(engine, newest_engine=True)["engine_version"].tolist() == ["0.32.0"]


def test_a_sweep_on_two_machines_is_kept_apart(engine: Engine) -> None:
    from pipeline.warehouse import queries

    load(engine, build.block_load(build.block(block_id="b1")))
    load(engine, build.block_load(build.block(block_id="b2"), hardware=build.GPU))
    write_derived(
        engine,
        "s1",
        speedups=[build.speedup(ARM, hardware=h, estimate=e) for h, e in ((build.CPU, 2.0), (build.GPU, 0.5))],
        verdicts=[build.verdict(ARM, hardware=h, estimate=e) for h, e in ((build.CPU, 2.0), (build.GPU, 0.5))],
    )
    rows = queries.latest_verdicts(engine)
    assert dict(zip(rows["hardware_kind"], rows["estimate"], strict=True)) == {"cpu": 2.0, "gpu": 0.5}
    assert queries.night_summary(engine)["worth_it"].sum() == 1
