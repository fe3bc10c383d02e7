"""Prompt sets of others: every line read as its format says, or refused by file and line."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.workload import FieldMap, PromptSource
from pipeline.errors import UserError
from pipeline.workloads import public
from pipeline.workloads.public import read_public

BENCH = PromptSource("bench", "spec-bench", path="question.jsonl")
MAPPED = PromptSource("mine", "jsonl", path="x.jsonl", fields=FieldMap(prompt="q.text", id="q.id", system="s"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def write(file: Path, *lines: Any) -> Path:
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return file


def test_spec_bench_turns_follow_each_other(file: Path) -> None:
    write(
        file,
        {"question_id": 81, "category": "writing", "turns": ["one", "two"], "reference": []},
        "",
        {"question_id": 82, "category": "qa", "turns": ["three"]},
    )
    workload = read_public(BENCH, path=file)
    assert [(p.prompt_id, p.kind, p.messages, p.follows) for p in workload.prompts] == [
        ("81-1", "writing", (("user", "one"),), None),
        ("81-2", "writing", (("user", "two"),), "81-1"),
        ("82", "qa", (("user", "three"),), None),
    ]
    assert (workload.name, workload.source, workload.revision) == ("bench", "question.jsonl", None)
    assert (workload.category, workload.temperature, workload.output_tokens) == ("public", 0.0, None)


def test_a_field_map_goes_into_mappings_and_adds_the_system_prompt(file: Path) -> None:
    write(file, {"q": {"text": "why?", "id": 7}, "s": "be brief"})
    (prompt,) = read_public(MAPPED, path=file).prompts
    assert (prompt.prompt_id, prompt.messages) == ("7", (("system", "be brief"), ("user", "why?")))


def test_without_an_id_the_lines_are_numbered_and_a_key_may_hold_a_dot(file: Path) -> None:
    source = PromptSource("mine", "jsonl", path="x", fields=FieldMap(prompt="a.b"))
    write(file, {"a.b": "one"}, {"a.b": "two"})
    assert [prompt.prompt_id for prompt in read_public(source, path=file).prompts] == ["1", "2"]


def test_a_schema_and_what_the_matrix_states_are_kept(file: Path) -> None:
    fields = FieldMap(prompt="p", kind="k", response_schema="schema")
    source = PromptSource(
        "mine", "jsonl", hub="org/name", file="a.jsonl", fields=fields, category="qa", temperature=0.5, output_tokens=9
    )
    write(file, {"p": "x", "k": "form", "schema": {"type": "object"}}, {"p": "y", "k": "form", "schema": None})
    workload = read_public(source, path=file, revision="abc")
    assert [prompt.response_schema for prompt in workload.prompts] == [{"type": "object"}, None]
    assert (workload.source, workload.revision) == ("hub:org/name/a.jsonl", "abc")
    assert (workload.category, workload.temperature, workload.output_tokens) == ("qa", 0.5, 9)


GOOD = {"question_id": 1, "category": "c", "turns": ["one"]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", ":2: not JSON"),
        ("[]", ":2: a JSON object is expected, this is a list"),
        ({"question_id": 2, "category": "c", "turn": ["x"]}, ":2: no key 'turns'; did you mean 'turn'?"),
        ({"category": "c", "turns": ["x"]}, ":2: no key 'question_id'; it has category, turns"),
        ({"question_id": 2, "category": "c", "turns": "x"}, ":2: key 'turns' is to hold a list of texts"),
        ({"question_id": 2, "category": "c", "turns": ["x", " "]}, ":2: key 'turns' is to hold a list of texts"),
        (GOOD, ":2: id '1' stands there twice"),
    ],
)
def test_a_wrong_line_is_named(file: Path, line: Any, said: str) -> None:
    with pytest.raises(UserError) as caught:
        read_public(BENCH, path=write(file, GOOD, line))
    assert f"{file}{said}" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"q": {"text": "", "id": 1}, "s": "x"}, "key 'q.text' is to hold a text that is not empty"),
        ({"q": "text", "s": "x"}, "no key 'q.id'; it has no keys"),
    ],
)
def test_a_mapped_line_that_lacks_its_text_is_named(file: Path, line: Any, said: str) -> None:
    with pytest.raises(UserError) as caught:
        read_public(MAPPED, path=write(file, line))
    assert str(caught.value) == f"{file}:1: {said}"


def test_a_schema_that_is_no_object_is_named(file: Path) -> None:
    source = PromptSource("mine", "jsonl", path="x", fields=FieldMap(prompt="p", response_schema="s"))
    with pytest.raises(UserError, match=":1: key 's' is to hold a JSON schema"):
        read_public(source, path=write(file, {"p": "x", "s": "{}"}))


def test_a_file_that_is_missing_empty_or_no_text_says_so(file: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read: No such file or directory\. Correct `path`"):
        read_public(BENCH, path=file)
    with pytest.raises(UserError, match="holds no prompts"):
        read_public(BENCH, path=write(file))
    file.write_bytes(b"\xff\n")
    with pytest.raises(UserError, match="are not UTF-8 text"):
        read_public(BENCH, path=file)


def test_a_set_that_no_run_directory_should_carry_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "MOST_PROMPTS", 1)
    with pytest.raises(UserError, match="has more than 1 prompts: cut the part"):
        read_public(BENCH, path=write(file, GOOD, GOOD | {"question_id": 2}))
