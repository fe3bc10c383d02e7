"""A prompt set, and what is sent of it."""

from pipeline.domain.workload import Prompt, Workload

SET = Workload(
    name="w",
    category="chat",
    description="d",
    prompts=(
        Prompt("a", "k", (("user", "x"),)),
        Prompt("b", "k", (("user", "y"),), follows="a"),
    ),
)


def test_the_first_prompts_are_those_of_the_set_as_they_are() -> None:
    assert SET.first(1) == SET.prompts[:1]
    assert SET.first(2) == SET.prompts


def test_beyond_the_set_it_begins_again_with_ids_of_its_own() -> None:
    sent = SET.first(5)
    assert [prompt.prompt_id for prompt in sent] == ["a", "b", "a#2", "b#2", "a#3"]
    assert [prompt.follows for prompt in sent] == [None, "a", None, "a#2", None]
    assert sent[3].messages == SET.prompts[1].messages
