"""Narrowing a matrix, and the cells it expands to."""

from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.matrix.expand import expand
from pipeline.matrix.load import parse_matrix
from pipeline.matrix.schema import MatrixFile
from pipeline.matrix.select import select
from pipeline.workloads.sets import WORKLOADS
from tests.unit.matrix.test_load import GOOD


@pytest.fixture
def matrix() -> MatrixFile:
    return parse_matrix(GOOD, name="m.yaml", base=Path("/base"), workloads=WORKLOADS)


def test_the_baseline_is_first_and_every_arm_has_every_cell(matrix: MatrixFile) -> None:
    (group,) = expand(matrix, workloads=WORKLOADS).groups
    assert [(method.name, len(cells)) for method, cells in group.arms] == [
        ("none", 4),
        ("ngram-k4", 4),
        ("draft-model-k3", 4),
    ]


def test_a_speculative_cell_points_at_its_baseline_cell(matrix: MatrixFile) -> None:
    (group,) = expand(matrix, workloads=WORKLOADS).groups
    baseline, arm = group.arms[0][1], group.arms[1][1]
    assert [cell.baseline_cell_id for cell in arm] == [cell.cell_id for cell in baseline]


def test_cell_ids_differ_and_do_not_depend_on_the_arms_name(matrix: MatrixFile) -> None:
    def ids(m: MatrixFile) -> list[str]:
        return [c.cell_id for g in expand(m, workloads=WORKLOADS).groups for _, cells in g.arms for c in cells]

    renamed = matrix.model_copy(
        update={"methods": [m.model_copy(update={"name": f"x-{m.arm}"}) for m in matrix.methods if m.method != "none"]}
    )
    assert len(set(ids(matrix))) == 12
    assert ids(renamed) == ids(matrix)


def test_the_series_is_the_cell_without_its_version(matrix: MatrixFile) -> None:
    both = select(matrix, {"engine_versions": ["0.31.0", "0.32.0"]})
    old, new = expand(both, workloads=WORKLOADS).groups
    assert [c.series_id for _, cells in old.arms for c in cells] == [
        c.series_id for _, cells in new.arms for c in cells
    ]
    assert {c.cell_id for _, cells in old.arms for c in cells}.isdisjoint(c.cell_id for _, cs in new.arms for c in cs)


def test_selecting_keeps_the_order_of_the_matrix(matrix: MatrixFile) -> None:
    chosen = select(matrix, {"methods": ["draft-model-k3"], "workloads": ["creative"], "concurrencies": [2]})
    assert [m.arm for m in chosen.methods] == ["none", "draft-model-k3"]
    assert (chosen.workloads, chosen.concurrency) == (["creative"], [2])


def test_empty_overrides_change_nothing(matrix: MatrixFile) -> None:
    assert select(matrix, {"methods": [], "repetitions": None}) == matrix


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"methods": ["ngram-k5"]}, "unknown method 'ngram-k5'; did you mean 'ngram-k4'?"),
        ({"workloads": ["prose"]}, "unknown workload 'prose'"),
        ({"concurrencies": [64]}, "concurrency 64 is never reached"),
        ({"repetitions": 0}, "repetitions"),
        ({"engine_versions": ["latest"]}, "'latest' is not a version"),
        ({"metods": ["x"]}, "unknown override 'metods'"),
    ],
)
def test_wrong_overrides_are_refused(matrix: MatrixFile, overrides: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as caught:
        select(matrix, overrides)
    assert said in str(caught.value)


def test_more_prompts_than_the_set_has_are_refused(matrix: MatrixFile) -> None:
    with pytest.raises(UserError, match="'structured' has 8 prompts, the matrix asks for 9"):
        expand(matrix.model_copy(update={"prompts": 9}), workloads=WORKLOADS)
