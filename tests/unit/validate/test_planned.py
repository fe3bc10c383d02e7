"""The SQL of the plan: numbers and checked ids only."""

import pytest

from pipeline.validate import planned
from tests.support import warehouse as build


def test_a_cell_is_a_row_of_what_was_planned() -> None:
    arm = build.cell()
    sql = planned.measurements(build.block(), load_id="abc")
    assert f"('{arm.cell_id}', {build.PROMPTS}, {build.OUTPUT_TOKENS}, {build.K})" in sql
    assert f"('{arm.baseline_cell_id}', {build.PROMPTS}, {build.OUTPUT_TOKENS}, cast(null as bigint))" in sql


def test_an_id_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not an id"):
        planned.requests(build.block(), load_id="x'; drop table y")
