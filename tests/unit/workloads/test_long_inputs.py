"""Long inputs: their length, the facts that questions ask for, and questions that nothing answers."""

import re

import pytest

from pipeline.workloads.choosing import Chooser
from pipeline.workloads.composing import GENRES, sections
from pipeline.workloads.lengths import characters
from pipeline.workloads.sets import NOMINAL, prompt_set

IN_LENGTHS = [(name, nominal) for name in ("summarisation", "rag") for nominal in NOMINAL]


def passages(text: str) -> list[str]:
    return re.split(r"\n\n\[\d+\] ", text.split("\n\nQuestion: ", maxsplit=1)[0])[1:]


@pytest.mark.parametrize(("name", "nominal"), IN_LENGTHS)
def test_a_prompt_is_as_long_as_it_says(name: str, nominal: int) -> None:
    """For a tokenizer that takes 3.95 to 4.45 characters of these papers a token: SmolLM2's takes 4.0."""
    found = [characters(prompt) for prompt in prompt_set(name, nominal).prompts]
    assert max(found) / 3.95 <= 1.1 * nominal
    assert min(found) / 4.45 >= 0.9 * nominal


@pytest.mark.parametrize("nominal", NOMINAL)
def test_a_question_is_answered_by_one_passage_or_by_none(nominal: int) -> None:
    workload = prompt_set("rag", nominal)
    for prompt in workload.prompts:
        text = prompt.messages[0][1]
        asked = re.search(r".*the ([\w ]+) at ([\w' ]+?)(,| just| to be|\?| cost)", text.split("Question: ")[1])
        thing, place = asked.group(1, 2)
        holding = [passage for passage in passages(text) if f"{thing} at {place}" in passage]
        assert len(holding) == (0 if prompt.kind == "absent" else 1)
    assert sum(prompt.kind == "absent" for prompt in workload.prompts) == 8


def test_a_section_says_who_does_the_work_for_how_much_until_when_and_why() -> None:
    for section in sections(Chooser("x"), characters=20_000):
        for fact in ("thing", "place", "firm", "amount", "due", "lead", "reason"):
            assert section.facts[fact] in section.text


def test_long_papers_are_of_every_kind_and_leave_no_slot_open() -> None:
    found = sections(Chooser("x"), characters=20_000)
    assert {section.facts["genre"] for section in found} == set(GENRES)
    assert not any(re.search(r"[{}|]", section.text) for section in found)


def test_papers_are_as_long_as_asked_to_within_a_sentence() -> None:
    for characters_asked in (3000, 5000, 9000):
        length = sum(len(section.text) + 2 for section in sections(Chooser("x"), characters=characters_asked))
        assert 0 <= length - characters_asked < 250


def test_the_instruction_stands_before_the_papers_or_below_them() -> None:
    first, second = prompt_set("summarisation", 1024).prompts[:2]
    assert first.messages[0][1].index("## ") > 0
    assert second.messages[0][1].startswith("## ")
