"""The prompt sets: what their names promise, and that a change of a prompt is seen."""

from dataclasses import replace

import pytest

from pipeline.workloads.sets import LENGTHS, prompt_set

HASHES = """
structured afd16c6545ad
creative 2cb301319f97
"""
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
