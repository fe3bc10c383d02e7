"""The prompt sets: what their names promise, and that a change of a prompt is seen."""

from dataclasses import replace

import pytest

from pipeline.domain.workload import Workload
from pipeline.workloads.sets import WORKLOADS

HASHES = {"structured": "afd16c6545ad", "creative": "2cb301319f97"}  # pragma: allowlist secret - hashes of prompts


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_a_set_is_found_under_its_own_name_and_its_prompts_differ(workload: Workload) -> None:
    assert WORKLOADS[workload.name] is workload
    assert len({prompt.prompt_id for prompt in workload.prompts}) == len(workload.prompts)
    assert len({prompt.messages for prompt in workload.prompts}) == len(workload.prompts)
    assert all(prompt.prompt_id.endswith(prompt.kind) for prompt in workload.prompts)


@pytest.mark.parametrize("name", WORKLOADS)
def test_prompts_stay_as_they_were_measured(name: str) -> None:
    """A change makes every cell another one: no trend goes on over it. Change them knowingly, under a new name."""
    assert WORKLOADS[name].content_hash == HASHES[name]


def test_one_word_makes_another_set() -> None:
    workload = WORKLOADS["creative"]
    first = workload.prompts[0]
    other = replace(first, messages=(("user", first.messages[0][1].replace("lighthouse", "windmill")),))
    assert replace(workload, prompts=(other, *workload.prompts[1:])).content_hash != workload.content_hash


def test_every_kind_has_prompts_among_the_first_three_so_that_a_short_run_sees_them_all() -> None:
    assert {prompt.kind for prompt in WORKLOADS["structured"].prompts[:3]} == {"json", "sql", "code"}
    assert {prompt.kind for prompt in WORKLOADS["creative"].prompts[:2]} == {"poetry", "brainstorming"}
