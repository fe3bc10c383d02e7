"""The prompt sets: what their names promise, and that a change of a prompt is seen."""

import re
from dataclasses import replace
from itertools import combinations

import jsonschema
import pytest

from pipeline.domain.workload import Prompt
from pipeline.settings import REPOSITORY
from pipeline.workloads.lengths import characters, summary
from pipeline.workloads.sets import LENGTHS, prompt_set

HASHES = """
structured afd16c6545ad
creative 2cb301319f97
json 3a972e077e55
sql 4202f74b7629
code-write f43aa0e2d312
code-repair 466becb2e3ed
code-edit 6ef55fe1b725
chat 7cc7a68cdbf2
brainstorming 090d4d4adc3a
poetry 1822a6526416
fiction 4a99b6be4729
reasoning 8f41caecdb82
summarisation 1024 9ccebf9b0148
summarisation 4096 eb8625524655
summarisation 16384 fc58baee760d
rag 1024 8a7defc12fff
rag 4096 cf0affbcd13f
rag 16384 c8855cf13f4c
"""
PAGE = REPOSITORY / "docs" / "workloads.md"
EVERY = [(name, nominal) for name, lengths in LENGTHS.items() for nominal in lengths or (None,)]


@pytest.mark.parametrize(("name", "nominal"), EVERY)
def test_a_set_is_found_under_its_own_name_and_its_prompts_differ(name: str, nominal: int | None) -> None:
    workload = prompt_set(name, nominal)
    assert (workload.name, workload.prompt_tokens) == (name, nominal)
    assert len({prompt.prompt_id for prompt in workload.prompts}) == len(workload.prompts)
    assert len({prompt.messages for prompt in workload.prompts}) == len(workload.prompts)
    assert all(prompt.kind in prompt.prompt_id for prompt in workload.prompts)


@pytest.mark.parametrize(("name", "nominal"), EVERY)
def test_prompts_stay_as_they_were_measured(name: str, nominal: int | None) -> None:
    """A change makes every cell another one: no trend goes on over it. Change them knowingly, under a new name."""
    pinned = dict(line.rsplit(" ", 1) for line in HASHES.split("\n") if line)
    assert prompt_set(name, nominal).content_hash == pinned[f"{name} {nominal}" if nominal else name]


def test_one_word_makes_another_set() -> None:
    workload = prompt_set("creative")
    first = workload.prompts[0]
    other = replace(first, messages=(("user", first.messages[0][1].replace("lighthouse", "windmill")),))
    assert replace(workload, prompts=(other, *workload.prompts[1:])).content_hash != workload.content_hash


def test_every_kind_has_prompts_among_the_first_three_so_that_a_short_run_sees_them_all() -> None:
    assert {prompt.kind for prompt in prompt_set("structured").prompts[:3]} == {"json", "sql", "code"}
    assert {prompt.kind for prompt in prompt_set("creative").prompts[:2]} == {"poetry", "brainstorming"}


SMOKE = ("structured", "creative")  # the short sets of the smoke matrix
FULL = [(name, nominal) for name, nominal in EVERY if name not in SMOKE]
READ_AT_ONCE = 4096  # longer prompts are compared in a sample: 64 of them hold 4 MB


@pytest.mark.parametrize(("name", "nominal"), FULL)
def test_a_full_set_has_at_least_64_prompts_and_states_what_a_cell_needs(name: str, nominal: int | None) -> None:
    workload = prompt_set(name, nominal)
    assert len(workload.prompts) >= 64
    assert workload.output_tokens
    assert (workload.temperature > 0) == (name in {"brainstorming", "poetry", "fiction"})
    assert (workload.source, workload.revision) == ("specwatch", None)


def shingles(prompt: Prompt, *, words: int) -> set[tuple[str, ...]]:
    """Every run of that many words."""
    found = re.findall(r"\w+", prompt.messages[-1][1].lower())
    return {tuple(found[i : i + words]) for i in range(len(found) - words + 1)}


@pytest.mark.parametrize(("name", "nominal"), FULL)
def test_no_two_prompts_are_nearly_the_same(name: str, nominal: int | None) -> None:
    prompts = prompt_set(name, nominal).prompts[: None if (nominal or 0) <= READ_AT_ONCE else 12]
    for words, most in ((1, 0.7), (4, 0.55)) if nominal is None else ((4, 0.45),):
        sets = [shingles(prompt, words=words) for prompt in prompts]
        overlaps = [len(a & b) / len(a | b) for a, b in combinations(sets, 2) if a | b]
        assert max(overlaps) <= most


def test_every_json_prompt_carries_its_schema_and_shows_it() -> None:
    for prompt in prompt_set("json").prompts:
        schema = prompt.response_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert set(schema["required"]) == set(schema["properties"])
        assert all(f'"{key}"' in prompt.messages[0][1] for key in schema["properties"])


def test_only_json_carries_schemas() -> None:
    assert [name for name, nominal in EVERY if prompt_set(name, nominal).has_schemas] == ["json"]


def test_every_turn_of_a_chat_follows_one_that_stands_before_it() -> None:
    before: set[str] = set()
    for prompt in prompt_set("chat").prompts:
        assert prompt.follows is None or prompt.follows in before
        assert [role for role, _ in prompt.messages] == ["user"]
        before.add(prompt.prompt_id)
    assert sum(prompt.follows is None for prompt in prompt_set("chat").prompts) == 20


def test_a_short_run_of_a_mixed_set_meets_many_kinds() -> None:
    for name in ("json", "sql", "code-write", "code-repair", "code-edit"):
        assert len({prompt.kind for prompt in prompt_set(name).prompts[:16]}) >= 8


@pytest.mark.parametrize(("name", "nominal"), FULL)
def test_the_page_on_workloads_tells_what_the_set_states(name: str, nominal: int | None) -> None:
    workload = prompt_set(name, nominal)
    (row,) = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` |")]
    cells = [cell.strip() for cell in row.split("|")[2:]]
    prompts = f"{len(workload.prompts)}{' turns' if name == 'chat' else ''}"
    assert cells[:2] == [workload.category, prompts]
    assert (float(cells[2]), int(cells[3])) == (workload.temperature, workload.output_tokens)
    median = summary([characters(prompt) for prompt in workload.prompts]).median
    assert cells[4].startswith(f"{median} characters" if nominal is None else "1024, 4096 or 16384 tokens")
