"""Narrowing a matrix, and the cells it expands to."""

from pathlib import Path

import pytest

from pipeline.domain.slo import DEFAULT_SLO, Slo
from pipeline.errors import UserError
from pipeline.matrix.expand import Expansion
from pipeline.matrix.expand import expand as expand_with
from pipeline.matrix.fit import FactorMisfit, sets_of
from pipeline.matrix.load import parse_matrix
from pipeline.matrix.schema import MatrixFile
from pipeline.matrix.select import select
from pipeline.workloads.sets import LENGTHS, prompt_set
from tests.unit.matrix.test_load import GOOD

AS_BEFORE = """
9ffcd069a352
e52a89af64a6 b47ecccb65ed d6d9e072b205 61ea1ae00c2f
8a33988d2f27 c92f78151ff7 dced51cd3389 31d17733f1b6
043ddf2dc0f0 6f29fb167bee 08674d3bc797 ba6ba948da0a
"""


def expand(matrix: MatrixFile) -> Expansion:
    asked = sets_of(matrix, lengths=LENGTHS)
    return expand_with(matrix, workloads={(entry.name, n): prompt_set(entry.name, n) for entry, n in asked})


@pytest.fixture
def matrix() -> MatrixFile:
    return parse_matrix(GOOD, name="m.yaml", base=Path("/base"), workloads=LENGTHS)


def test_the_baseline_is_first_and_every_arm_has_every_cell(matrix: MatrixFile) -> None:
    (group,) = expand(matrix).groups
    assert [(method.name, len(cells)) for method, cells in group.arms] == [
        ("none", 4),
        ("ngram-k4", 4),
        ("draft-model-k3", 4),
    ]


def test_a_speculative_cell_points_at_its_baseline_cell(matrix: MatrixFile) -> None:
    (group,) = expand(matrix).groups
    baseline, arm = group.arms[0][1], group.arms[1][1]
    assert [cell.baseline_cell_id for cell in arm] == [cell.cell_id for cell in baseline]


def test_cell_ids_differ_and_do_not_depend_on_the_arms_name(matrix: MatrixFile) -> None:
    def ids(m: MatrixFile) -> list[str]:
        return [c.cell_id for g in expand(m).groups for _, cells in g.arms for c in cells]

    renamed = matrix.model_copy(
        update={"methods": [m.model_copy(update={"name": f"x-{m.arm}"}) for m in matrix.methods if m.method != "none"]}
    )
    assert len(set(ids(matrix))) == 12
    assert ids(renamed) == ids(matrix)


def test_the_series_is_the_cell_without_its_version(matrix: MatrixFile) -> None:
    both = select(matrix, {"engine_versions": ["0.31.0", "0.32.0"]})
    old, new = expand(both).groups
    assert [c.series_id for _, cells in old.arms for c in cells] == [
        c.series_id for _, cells in new.arms for c in cells
    ]
    assert {c.cell_id for _, cells in old.arms for c in cells}.isdisjoint(c.cell_id for _, cs in new.arms for c in cs)


def test_selecting_keeps_the_order_of_the_matrix(matrix: MatrixFile) -> None:
    chosen = select(matrix, {"methods": ["draft-model-k3"], "workloads": ["creative"], "concurrencies": [2]})
    assert [m.arm for m in chosen.methods] == ["none", "draft-model-k3"]
    assert ([entry.name for entry in chosen.workloads], chosen.concurrency) == (["creative"], [2])


def test_empty_overrides_change_nothing(matrix: MatrixFile) -> None:
    assert select(matrix, {"methods": [], "repetitions": None}) == matrix


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"methods": ["ngram-k5"]}, "unknown method 'ngram-k5'; did you mean 'ngram-k4'?"),
        ({"workloads": ["prose"]}, "unknown workload 'prose'"),
        ({"concurrencies": [64]}, "concurrency 64 is never reached"),
        ({"repetitions": 0}, "repetitions"),
        ({"engine_versions": ["newest"]}, "'newest' is not a version"),
        ({"metods": ["x"]}, "unknown override 'metods'"),
        ({"arrivals": ["poisson"]}, "'poisson' is no arrival process"),
        ({"arrivals": ["uniform:2"]}, "arrivals.0.process: Input should be 'poisson' or 'fixed'"),
        ({"arrivals": ["poisson:0"]}, "arrivals.0.rate_per_s: Input should be greater than 0"),
        ({"temperatures": ["hot"]}, "a temperature is a number from 0 to 2"),
        ({"output_tokens": ["4"]}, "method 'ngram-k4' drafts 4 tokens a step"),
    ],
)
def test_wrong_overrides_are_refused(matrix: MatrixFile, overrides: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as caught:
        select(matrix, overrides)
    assert said in str(caught.value)


def test_more_prompts_than_the_set_has_are_refused(matrix: MatrixFile) -> None:
    with pytest.raises(FactorMisfit, match="'structured' has 8 prompts, the matrix asks for 9"):
        expand(matrix.model_copy(update={"prompts": 9}))


def test_a_matrix_from_before_loads_and_lengths_keeps_its_hash_and_its_cells(matrix: MatrixFile) -> None:
    """Computed by the release that had neither: what was measured then is continued, and stays on its trend."""
    expansion = expand(matrix)
    ids = [cell.cell_id for group in expansion.groups for _, cells in group.arms for cell in cells]
    assert [expansion.matrix_hash, *ids] == AS_BEFORE.split()


def test_the_load_of_an_override_is_the_whole_load(matrix: MatrixFile) -> None:
    opened = select(matrix, {"arrivals": ["poisson:2.5", "fixed:2"]})
    assert opened.concurrency == []
    assert [(a.process, a.rate_per_s) for a in opened.arrivals] == [("poisson", 2.5), ("fixed", 2.0)]
    assert select(opened, {"concurrencies": [4]}).arrivals == []


def test_lengths_and_temperatures_are_replaced_from_text_or_numbers(matrix: MatrixFile) -> None:
    chosen = select(matrix, {"temperatures": ["0", "stated"], "output_tokens": [64], "prompt_tokens": ["1024"]})
    assert (chosen.temperature, chosen.output_tokens, chosen.prompt_tokens) == ([0.0, "stated"], [64], [1024])


def test_waves_let_a_wide_loop_send_more_than_a_narrow_one() -> None:
    text = GOOD.replace("prompts: 8", "prompts: 8\nwaves: 2").replace("max_num_seqs: 8", "max_num_seqs: 64")
    assert text.count("waves") == 1
    wide = parse_matrix(text, name="m.yaml", base=Path("/base"), workloads=LENGTHS).model_copy(
        update={"concurrency": [1, 4, 16]}
    )
    (group,) = expand(wide).groups
    found = {cell.concurrency: cell.prompts for _, cells in group.arms for cell in cells}
    assert found == {1: 8, 4: 8, 16: 32}  # twice 16: the set of 8 in four rounds


def test_a_method_can_be_meant_for_some_targets_only() -> None:
    entry = "targets:\n"
    more = "targets:\n  - {name: other, source: org/other}\n"
    text = GOOD.replace(entry, more).replace("    method: ngram\n", "    method: ngram\n    targets: [other]\n")
    assert text != GOOD
    other, first = expand(parse_matrix(text, name="m.yaml", base=Path("/base"), workloads=LENGTHS)).groups
    assert [method.name for method, _ in other.arms] == ["none", "ngram-k4", "draft-model-k3"]
    assert [method.name for method, _ in first.arms] == ["none", "draft-model-k3"]
    alone = text.replace("  - method: draft_model\n", "  - method: draft_model\n    targets: [other]\n")
    assert len(expand(parse_matrix(alone, name="m.yaml", base=Path("/base"), workloads=LENGTHS)).groups) == 1
    with pytest.raises(UserError, match="names the target 'nobody'"):
        parse_matrix(text.replace("[other]", "[nobody]"), name="m.yaml", base=Path("/base"), workloads=LENGTHS)


def test_a_range_of_releases_cannot_be_expanded_before_it_is_resolved(matrix: MatrixFile) -> None:
    entry = matrix.engines[0].model_copy(update={"version": "latest"})
    with pytest.raises(ValueError, match="must be resolved before"):
        expand(matrix.model_copy(update={"engines": [entry]}))


def test_what_users_are_promised_is_stated_and_changes_no_cell(matrix: MatrixFile) -> None:
    asked = parse_matrix(
        GOOD + "slo: {ttft_ms: 200, tpot_ms: 15.5}\n", name="m.yaml", base=Path("/base"), workloads=LENGTHS
    )
    assert expand(asked).slo == Slo(ttft_ms=200, tpot_ms=15.5)
    assert expand(asked).groups == expand(matrix).groups
    assert expand(matrix).slo == DEFAULT_SLO
