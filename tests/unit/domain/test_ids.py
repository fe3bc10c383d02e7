"""Ids follow content: what affects a measurement changes them, and nothing else does."""

from dataclasses import replace

from pipeline.domain.engine import Engine
from pipeline.domain.workload import Prompt, Workload
from tests.support.values import BASELINE, DRAFT, NGRAM, make_cell


def test_every_factor_changes_the_cell_id() -> None:
    cell = make_cell()
    changed = [
        replace(cell, engine=Engine("0.31.0", "cpu")),
        replace(cell, method=DRAFT),
        replace(cell, method=replace(NGRAM, options={"prompt_lookup_min": 2})),
        replace(cell, workload_hash="other"),
        replace(cell, prompts=3),
        replace(cell, output_tokens=9),
        replace(cell, temperature=0.5),
        replace(cell, concurrency=2),
        replace(cell, seed=8),
        replace(cell, server=replace(cell.server, enforce_eager=True)),
    ]
    assert len({c.cell_id for c in [cell, *changed]}) == len(changed) + 1


def test_the_interpreter_and_the_arms_name_do_not() -> None:
    cell = make_cell()
    assert replace(cell, engine=Engine("0.32.0", "cpu", python="/x")).cell_id == cell.cell_id
    assert replace(cell, method=replace(NGRAM, name="other")).cell_id == cell.cell_id


def test_a_baseline_is_its_own_baseline() -> None:
    cell = make_cell(method=BASELINE)
    assert cell.baseline_cell_id == cell.cell_id


def test_synthetic_acceptance_is_told_from_real() -> None:
    assert (BASELINE.acceptance, NGRAM.acceptance) == ("none", "real")
    assert replace(DRAFT, options={"rejection_sample_method": "synthetic"}).acceptance == "synthetic"


def test_a_changed_prompt_changes_the_workload() -> None:
    def workload(text: str) -> Workload:
        return Workload("w", "structured", "", (Prompt("p", "json", (("user", text),)),))

    assert workload("a").workload_id != workload("b").workload_id


def test_settings_of_the_server_that_came_later_leave_older_ids_as_they_are() -> None:
    cell = make_cell()
    assert cell.server.as_json().keys().isdisjoint({"attention_backend", "kv_cache_memory_bytes"})
    pinned = replace(cell, server=replace(cell.server, attention_backend="FLASH_ATTN"))
    equal = replace(cell, server=replace(cell.server, kv_cache_memory_bytes=1000))
    assert len({cell.cell_id, pinned.cell_id, equal.cell_id}) == 3


def test_servers_that_run_already_are_an_engine_of_their_own_kind() -> None:
    cell = make_cell()
    external = replace(cell, engine=Engine("0.32.0", "cpu", external=(("none", "http://127.0.0.1:8000"),)))
    assert external.engine.engine_id == "0.32.0-cpu-external"
    assert (external.cell_id, external.series_id) != (cell.cell_id, cell.series_id)
    assert external.series_id == replace(external, engine=replace(external.engine, version="0.33.0")).series_id
