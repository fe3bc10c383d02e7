"""How a matrix names a prompt set of others: where it lies, which keys hold what; mistakes name line and key."""

from pathlib import Path

import pytest

from pipeline.domain.workload import FieldMap, PromptSource
from pipeline.errors import UserError
from pipeline.matrix.fit import FactorMisfit
from pipeline.matrix.load import parse_matrix, refused
from pipeline.matrix.schema import MatrixFile
from pipeline.matrix.select import select
from tests.unit.matrix.test_factors import TEXT

SPEC_BENCH = "{name: bench, format: spec-bench, path: ../data/question.jsonl}"
MINE = "{name: mine, format: jsonl, hub: org/name, file: a.jsonl, revision: main, fields: {turns: q.t, id: i}}"


def parse(entry: str) -> MatrixFile:
    text = TEXT.replace("[plain]", f"\n  - plain\n  - {entry}")
    return parse_matrix(text, name="m.yaml", base=Path("/base/here"), workloads=["plain"])


def test_a_path_starts_at_the_files_directory() -> None:
    plain, bench = parse(SPEC_BENCH).workloads
    assert plain.source() is None
    assert bench.source() == PromptSource("bench", "spec-bench", path="/base/data/question.jsonl")


def test_a_field_map_and_what_the_entry_states_are_kept() -> None:
    mine = parse(MINE.replace("fields", "category: qa, temperature: 1, output_tokens: 32, fields")).workloads[1]
    assert mine.source() == PromptSource(
        "mine",
        "jsonl",
        hub="org/name",
        file="a.jsonl",
        revision="main",
        fields=FieldMap(turns="q.t", id="i"),
        category="qa",
        temperature=1.0,
        output_tokens=32,
    )


def test_an_override_chooses_a_loaded_set_by_its_name() -> None:
    chosen = select(parse(MINE), {"workloads": ["mine"]})
    assert [entry.source() for entry in chosen.workloads] == [parse(MINE).workloads[1].source()]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (SPEC_BENCH.replace("path", "pth"), "m.yaml:11: unknown key 'pth'; did you mean 'path'?"),
        (
            SPEC_BENCH.replace("spec-bench", "spec"),
            "m.yaml:11: workloads.1.format: Input should be 'spec-bench' or 'jsonl'",
        ),
        (SPEC_BENCH.replace("format: spec-bench, ", ""), "m.yaml:11: workloads.1: path: only with a format"),
        (SPEC_BENCH.replace("name: bench", "name: plain"), "stands there twice"),
        ("{name: bench, format: spec-bench}", "workload 'bench' needs either `path`, or `hub` and `file`"),
        (SPEC_BENCH.replace("path: .", "hub: a/b, path: ."), "needs either `path`, or `hub` and `file`"),
        (SPEC_BENCH.replace("path: .", "revision: main, path: ."), "`file` and `revision` belong to a `hub` id"),
        (SPEC_BENCH.replace("path: .", "fields: {id: x}, path: ."), "spec-bench has its own fields"),
        (MINE.replace("turns: q.t, ", ""), "needs `fields` with either `prompt` or `turns`"),
        (MINE.replace("turns: q.t", "prompt: p, turns: q.t"), "needs `fields` with either `prompt` or `turns`"),
        (MINE.replace("turns:", "trns:"), "m.yaml:11: unknown key 'trns'; did you mean 'turns'?"),
        (MINE.replace("file: a.jsonl, ", ""), "a hub id needs its `file`"),
    ],
)
def test_a_wrong_entry_says_where_and_what(entry: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(entry)
    assert said in str(caught.value)


def test_a_loaded_set_cannot_take_the_name_of_one_of_ours() -> None:
    text = TEXT.replace("[plain]", f"\n  - {SPEC_BENCH.replace('bench,', 'plain,', 1)}")
    with pytest.raises(UserError, match=r"m\.yaml:10: workload 'plain' is one of ours"):
        parse_matrix(text, name="m.yaml", base=Path("/"), workloads=["plain"])


def test_a_misfit_with_a_prompt_set_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(TEXT)
    assert str(refused(FactorMisfit("too many", location=("prompts",)), path=path)) == f"{path}:10: prompts: too many"
