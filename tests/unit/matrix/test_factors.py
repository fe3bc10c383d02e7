"""Factors of a matrix: lists, stated values, lengths, guided decoding and loads make the cells they name, once."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.cell import Cell
from pipeline.domain.workload import Prompt, Workload
from pipeline.errors import UserError
from pipeline.matrix.expand import expand
from pipeline.matrix.fit import FactorMisfit, sets_of
from pipeline.matrix.load import parse_matrix
from pipeline.matrix.schema import MatrixFile

LENGTHS: dict[str, tuple[int, ...]] = {"plain": (), "forms": (), "long": (100, 200), "talk": ()}
TEXT = """\
version: 1
name: tiny
engines:
  - {version: "0.32.0", platform: cpu}
targets:
  - {name: target, source: "embedded:target"}
methods:
  - {name: ngram-k4, method: ngram, num_speculative_tokens: 4}
workloads: [plain]
prompts: 4
output_tokens: 48
concurrency: [1]
"""


def prompts(name: str, *, schema: bool = False, turns: int = 1) -> tuple[Prompt, ...]:
    return tuple(
        Prompt(
            f"{name}-{index}",
            "any",
            (("user", f"text {index}"),),
            follows=f"{name}-{index - 1}" if index % turns else None,
            response_schema={"type": "object"} if schema else None,
        )
        for index in range(8)
    )


def stated(name: str, nominal: int | None) -> Workload:
    return Workload(
        name,
        "test",
        "For tests.",
        prompts(f"{name}-{nominal}", schema=name == "forms", turns=4 if name == "talk" else 1),
        temperature=0.8,
        output_tokens=None if name == "plain" else 64,
        prompt_tokens=nominal,
    )


def parse(*changes: tuple[str, str]) -> MatrixFile:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_matrix(text, name="m.yaml", base=Path("/base"), workloads=LENGTHS)


def baseline(*changes: tuple[str, str]) -> list[Cell]:
    matrix = parse(*changes)
    sets = {(entry.name, nominal): stated(entry.name, nominal) for entry, nominal in sets_of(matrix, lengths=LENGTHS)}
    (group,) = expand(matrix, workloads=sets).groups
    return list(group.arms[0][1])


def test_lists_are_multiplied_in_the_order_of_the_file() -> None:
    cells = baseline(("output_tokens: 48", "output_tokens: [16, 32]\ntemperature: [0, 0.5]"))
    assert [(cell.output_tokens, cell.temperature) for cell in cells] == [(16, 0.0), (16, 0.5), (32, 0.0), (32, 0.5)]


def test_one_value_and_a_list_of_it_are_the_same_cell() -> None:
    assert baseline() == baseline(("output_tokens: 48", "output_tokens: [48]\ntemperature: [0]"))


def test_stated_takes_the_sets_own_and_makes_no_second_cell_of_a_value_that_is_listed() -> None:
    cells = baseline(("[plain]", "[forms]"), ("tokens: 48", "tokens: stated\ntemperature: [0.8, stated, 0]"))
    assert [(cell.output_tokens, cell.temperature) for cell in cells] == [(64, 0.8), (64, 0.0)]


def test_an_input_length_multiplies_only_sets_that_come_in_lengths() -> None:
    cells = baseline(("[plain]", "[plain, long]\nprompt_tokens: [100, 200]"))
    assert [(cell.workload, cell.prompt_tokens) for cell in cells] == [("plain", None), ("long", 100), ("long", 200)]
    assert len({cell.workload_hash for cell in cells}) == 3


def test_guided_decoding_multiplies_only_sets_with_schemas() -> None:
    cells = baseline(("[plain]", "[plain, forms]\nguided: [false, true]"))
    assert [(cell.workload, cell.guided) for cell in cells] == [("plain", False), ("forms", False), ("forms", True)]


def test_loads_are_closed_loops_then_open_ones() -> None:
    arrivals = "[{process: poisson, rate_per_s: 4}, {process: fixed, rate_per_s: 0.5}]"
    cells = baseline(("concurrency: [1]", f"concurrency: [1, 2]\narrivals: {arrivals}"))
    assert [cell.load for cell in cells] == ["c=1", "c=2", "poisson 4/s", "fixed 0.5/s"]
    assert len({cell.cell_id for cell in cells}) == 4
    assert [cell.load for cell in baseline(("concurrency: [1]", f"arrivals: {arrivals}"))] == [
        "poisson 4/s",
        "fixed 0.5/s",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("concurrency: [1]", "seed: 1", "m.yaml:1: concurrency: there is no load: write concurrency"),
        ("concurrency: [1]", "arrivals: [{process: bursty, rate_per_s: 1}]", "m.yaml:12: arrivals.0.process"),
        (
            "concurrency: [1]",
            "arrivals: [{process: fixed, rate_per_s: 0}]",
            "arrivals.0.rate_per_s: Input should",
        ),
        ("concurrency: [1]", "arrivals: [{proces: fixed, rate_per_s: 1}]", "'proces'; did you mean 'process'?"),
        (
            "concurrency: [1]",
            "arrivals:\n- {process: fixed, rate_per_s: 1}\n- {process: fixed, rate_per_s: 1.0}",
            "m.yaml:12: arrivals: 'fixed 1/s' stands there twice",
        ),
        ("tokens: 48", "tokens: [48, 48]", "m.yaml:11: output_tokens: 48 stands there twice"),
        ("tokens: 48", "tokens: [48, 1]", "m.yaml:11: output_tokens.1: output_tokens is a whole number from 2"),
        (
            "tokens: 48",
            "tokens: state",
            "m.yaml:11: output_tokens: output_tokens is a whole number from 2, or",
        ),
        ("tokens: 48", "tokens: [64, 4]", "but a request has only 4 output tokens"),
        ("tokens: 48", "tokens: 48\ntemperature: 2.1", "m.yaml:12: temperature: a temperature is a number from 0 to 2"),
        ("tokens: 48", "tokens: 48\ntemperature: [0, true]", "m.yaml:12: temperature.1: a temperature is a number"),
        ("tokens: 48", "tokens: 48\ntemperature: []", "m.yaml:12: temperature: Value should have at least 1 item"),
        ("tokens: 48", "tokens: 48\nguided: 1", "m.yaml:12: guided: Input should be a valid boolean"),
        (
            "tokens: 48",
            "tokens: 48\nprompt_tokens: 0",
            "m.yaml:12: prompt_tokens: Input should be greater than",
        ),
        ("[plain]", "[plain, plain]", "m.yaml:9: workloads: 'plain' stands there twice"),
    ],
)
def test_a_wrong_factor_says_where_and_what(old: str, new: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse((old, new))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "location", "said"),
    [
        ("prompts: 4", "prompts: 9", ("prompts",), "'plain' has 8 prompts, the matrix asks for 9"),
        (
            "[plain]",
            "[plain, long]",
            ("workloads", 1),
            "'long' comes in lengths: write prompt_tokens, one or more of",
        ),
        (
            "[plain]",
            "[long]\nprompt_tokens: [100, 150]",
            ("prompt_tokens", 1),
            "does not come in 150 tokens; it has",
        ),
        ("tokens: 48", "tokens: stated", ("output_tokens",), "'plain' states no output_tokens: write a number"),
        (
            "[plain]",
            "[long]\nprompt_tokens: [100, 200]\nserver: {max_model_len: 300}",
            ("prompt_tokens",),
            "'long' needs about 332 tokens (200 input tokens and up to 48 of each answer), but server.max_model_len",
        ),
        (
            "[plain]",
            "[talk]\nserver: {max_model_len: 190}",
            ("workloads", 0),
            "'talk' needs about 196 tokens",  # four turns of 6 characters, and 48 tokens of answer for each
        ),
        ("[plain]\nprompts: 4\n", "[talk]\nprompts: 8\n", ("concurrency",), "8 prompts are 2 conversations"),
    ],
)
def test_what_does_not_fit_the_prompt_sets_leads_to_the_key(
    old: str, new: str, location: tuple[str | int, ...], said: str
) -> None:
    wider = [("concurrency: [1]", "concurrency: [3]")] if location == ("concurrency",) else []
    with pytest.raises(FactorMisfit) as caught:
        baseline((old, new), *wider)
    assert said in str(caught.value)
    assert caught.value.location == location


def test_ten_thousand_cells_over_forty_versions_take_a_moment() -> None:
    engines = "\n".join(f'  - {{version: "0.{minor}.0", platform: cpu}}' for minor in range(40))
    matrix = parse(('  - {version: "0.32.0", platform: cpu}', engines))
    long = replace(stated("plain", None), prompts=prompts("plain") * 1000)
    concurrency = list(range(1, 126))
    wide = matrix.model_copy(update={"concurrency": concurrency, "prompts": 200})
    started = time.perf_counter()
    groups = expand(wide, workloads={("plain", None): long}).groups
    ids = {cell.cell_id for group in groups for _, cells in group.arms for cell in cells}
    assert len(ids) == 40 * 2 * 125
    assert time.perf_counter() - started < 5
