"""The prompt sets a matrix asks for: found by name and length, or read where they lie; what does not fit has a line."""

import json
from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.records.block import read_workloads
from pipeline.steps import plan_sweep
from pipeline.steps.planning import expand_matrix

MATRIX = """\
version: 1
name: tiny
engines:
  - {version: "0.32.0", platform: cpu}
targets:
  - {name: target, source: "embedded:smollm2-135m-instruct"}
methods:
  - {name: ngram-k4, method: ngram, num_speculative_tokens: 4}
workloads: [json, {name: bench, format: spec-bench, path: question.jsonl, output_tokens: 32}]
prompts: 2
output_tokens: stated
concurrency: [1]
"""


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SPECWATCH_RUNS", raising=False)
    lines = [{"question_id": n, "category": "c", "turns": [f"question {n}"]} for n in range(2)]
    (tmp_path / "question.jsonl").write_text("\n".join(map(json.dumps, lines)))
    path = tmp_path / "tiny.yaml"
    path.write_text(MATRIX)
    return path


def test_the_run_directory_carries_ours_and_the_public_ones(matrix: Path) -> None:
    planned = plan_sweep(str(matrix))
    (matrix.parent / "question.jsonl").unlink()
    found = {workload.name: workload for workload in read_workloads(Path(planned["blocks"][0])).values()}
    assert [prompt.prompt_id for prompt in found["bench"].prompts] == ["0", "1"]
    assert found["bench"].source == str(matrix.parent / "question.jsonl")
    assert found["json"].prompts[0].response_schema is not None


def test_a_public_set_that_is_left_out_need_not_be_there(matrix: Path) -> None:
    (matrix.parent / "question.jsonl").unlink()
    chosen = expand_matrix(str(matrix), overrides={"workloads": ["json"]})
    assert [workload.name for workload in chosen.workloads] == ["json"]
    with pytest.raises(UserError, match=r"question\.jsonl cannot be read"):
        expand_matrix(str(matrix), overrides={})


def test_what_a_set_cannot_give_names_the_line_of_the_matrix(matrix: Path) -> None:
    matrix.write_text(MATRIX.replace("prompts: 2", "prompts: 3"))
    with pytest.raises(UserError) as caught:
        expand_matrix(str(matrix), overrides={})
    assert str(caught.value) == (
        f"{matrix}:10: prompts: workload 'bench' has 2 prompts, the matrix asks for 3: lower prompts"
    )


def test_what_an_override_asks_too_much_is_no_fault_of_a_line(matrix: Path) -> None:
    with pytest.raises(UserError, match=r"matrix tiny with these parameters cannot be measured: workload 'json' needs"):
        expand_matrix(str(matrix), overrides={"output_tokens": ["2000"], "workloads": ["json"]})
