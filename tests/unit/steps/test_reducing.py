"""The repetitions of a block, reduced: what needs more than one repetition, or what lies beside them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.block import Block
from pipeline.domain.engine import EngineFacts
from pipeline.domain.request import ClientFacts, RequestRecord
from pipeline.domain.server_start import ServerStart
from pipeline.domain.telemetry import TelemetrySample
from pipeline.records.block import attempt_directories
from pipeline.records.layout import attempt_directory, repetition_directory
from pipeline.records.repetition import Window, manifests, write_repetition
from pipeline.steps.reducing import Reduced, reduce_block
from tests.support.values import MS, NGRAM, make_block, make_record
from tests.support.warehouse import GPU, server_start

LABELS = '{engine="0"}'
BLOCK = make_block(methods=(NGRAM,), repetitions=2)
CELL_NUMBER = 0  # of each start; concurrency 1


def page(generated: int, *, drafts: int | None = None) -> str:
    """/metrics of a drained server; with drafts of 2 tokens, the first of which always holds."""
    lines = [f"vllm:generation_tokens_total{LABELS} {generated}"]
    if drafts is not None:
        lines += [
            f"vllm:spec_decode_num_drafts_total{LABELS} {drafts}",
            f"vllm:spec_decode_num_draft_tokens_total{LABELS} {2 * drafts}",
            f"vllm:spec_decode_num_accepted_tokens_total{LABELS} {drafts}",
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="0"}} {drafts}',
            'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 0',
        ]
    return "\n".join(lines) + "\n"


def window(*texts: str, **changes: Any) -> Window:
    """A window whose requests answered `texts`, one after the other, 2 tokens in 20 ms each."""
    records = tuple(answer(index, text) for index, text in enumerate(texts))
    found = Window(
        requests=records,
        before=page(0, drafts=0),
        after=page(2 * len(texts), drafts=4),
        started_at="2026-01-01T00:00:00+00:00",
        started_at_s=0.0,
        ended_at_s=1.0,
        origin_ns=0,
        client_cpu_s=0.001,
    )
    return replace(found, **changes)


def answer(index: int, text: str) -> RequestRecord:
    begin = 20 * index
    record = make_record(sent_ms=begin, chunks=((begin + 10, 1), (begin + 20, 2)), index=index, text=text)
    return replace(record, prompt_id=f"p{index}", seed=7 + index)


def reduced(tmp_path: Path, windows: dict[tuple[int, int], Window], block: Block = BLOCK, **options: Any) -> Reduced:
    """Write windows by (start, repetition), and reduce what was written."""
    for (index, repetition), written in windows.items():
        start = block.starts[index]
        cell = start.cells[CELL_NUMBER]
        write_repetition(
            repetition_directory(attempt_directory(tmp_path, start, 1), cell.cell_id, repetition),
            written,
            start_index=index,
            attempt=1,
            position=start.position,
            cell_id=cell.cell_id,
            repetition=repetition,
        )
    given = {"starts": [], "hardware": GPU, "usd_per_gpu_hour": None} | options
    return reduce_block(block, list(manifests(attempt_directories(tmp_path))), **given)


def of(found: Reduced, name: str) -> dict[tuple[int, int], Any]:
    return {(m.key.start_index, m.key.repetition): m.metrics[name] for m in found.measurements}


def test_everything_is_compared_with_the_first_outputs_of_the_opening_baseline(tmp_path: Path) -> None:
    same, other = window("ab", "cd"), window("ab", "cx")
    found = reduced(tmp_path, {(0, 0): same, (0, 1): other, (1, 0): other, (1, 1): same, (2, 0): same})
    assert of(found, "identical_share") == {(0, 0): None, (0, 1): 0.5, (1, 0): 0.5, (1, 1): 1, (2, 0): 1}
    assert of(found, "first_difference_median_chars")[1, 0] == 1


def test_a_void_repetition_is_no_reference_and_has_no_rows(tmp_path: Path) -> None:
    void = window("xx", before=page(9), after=page(1))
    found = reduced(tmp_path, {(0, 0): void, (0, 1): window("ab"), (1, 0): window("ab")})
    assert of(found, "identical_share") == {(0, 1): None, (1, 0): 1}
    ((key, reason),) = found.void.items()
    assert key == (0, BLOCK.starts[0].cells[CELL_NUMBER].cell_id)
    assert reason.startswith("repetition 0 is void: vllm:generation_tokens_total fell from 9 to 1")
    assert [k.start_index for k, _ in found.requests.rows(without=frozenset(found.void))] == [1]


def test_without_an_opening_baseline_nothing_is_compared(tmp_path: Path) -> None:
    assert of(reduced(tmp_path, {(1, 0): window("ab"), (2, 0): window("ab")}), "identical_share") == {
        (1, 0): None,
        (2, 0): None,
    }


def test_sampled_outputs_are_not_compared(tmp_path: Path) -> None:
    def warm(start: Any) -> Any:
        return replace(start, cells=tuple(replace(cell, temperature=0.8) for cell in start.cells))

    block = replace(BLOCK, starts=tuple(map(warm, BLOCK.starts)))
    found = reduced(tmp_path, {(0, 0): window("ab"), (1, 0): window("ab")}, block=block)
    assert set(of(found, "identical_share").values()) == {None}


def logged(index: int, tokens: int | None, memory: int | None) -> ServerStart:
    facts = EngineFacts(kv_cache_tokens=tokens, model_memory_bytes=memory)
    return replace(server_start(BLOCK.starts[index]), facts=facts)


@pytest.mark.parametrize(
    ("opening", "expected"), [((100, 10), (30, 5)), ((None, None), (20, 6))], ids=["opening", "closing"]
)
def test_the_tax_is_against_the_opening_baseline_or_else_the_closing_one(
    tmp_path: Path, opening: tuple, expected: tuple
) -> None:
    starts = [logged(0, *opening), logged(1, 70, 15), logged(2, 90, 9)]
    found = reduced(tmp_path, {(i, 0): window("ab") for i in range(3)}, starts=starts)
    tax = of(found, "kv_cache_tokens_lost"), of(found, "model_memory_tax_bytes")
    assert [values[1, 0] for values in tax] == list(expected)
    assert [values[i, 0] for values in tax for i in (0, 2)] == [None] * 4


def test_telemetry_of_the_run_directory_becomes_metrics_faults_and_rows(tmp_path: Path) -> None:
    samples = tuple(
        TelemetrySample(at_ns=at * MS, energy_mj=1000 * at, clock_reasons=0x40, foreign_processes=1)
        for at in (-1, 10, 19, 50)
    )
    found = reduced(tmp_path, {(1, 0): window("ab", telemetry=samples)}, usd_per_gpu_hour=3.6)
    (measurement,) = found.measurements
    assert measurement.metrics["energy_joules"] == 20
    assert measurement.metrics["usd_per_million_output_tokens"] == pytest.approx(3.6 / 3600 * 0.02 / 2 * 1e6)
    assert measurement.faults == ("foreign_process", "throttled")
    ((key, row),) = found.telemetry
    assert (key, row.samples, row.throttled_share) == (measurement.key, 2, 1)


def test_a_client_that_was_busy_marks_its_repetition(tmp_path: Path) -> None:
    busy = ClientFacts(cpu_s=0.001, busiest_core_share=0.9)
    found = reduced(tmp_path, {(0, 0): window("ab", client=busy), (1, 0): window("ab")})
    assert [m.faults for m in found.measurements] == [("client_busy",), ()]
    assert of(found, "client_cpu_share")[1, 0] == pytest.approx(0.001 / 0.02)  # recorded before there were facts


def test_positions_carry_both_chances(tmp_path: Path) -> None:
    found = reduced(tmp_path, {(1, 0): window("ab")})
    assert [(p.accepted, p.drafts, p.unconditional, p.conditional) for p in found.positions] == [
        (4, 4, 1, 1),
        (0, 4, 0, 0),
    ]
