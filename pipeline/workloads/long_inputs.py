"""The prefill-heavy sets: long papers to summarise, and questions to answer from passages."""

from pipeline.domain.workload import Prompt, Workload
from pipeline.workloads.choosing import Chooser
from pipeline.workloads.composing import absent_subject, filled, instruction, sections

PROMPTS = 64
CATEGORY = "prefill-heavy"
# Of these papers, and a compromise: SmolLM2's tokenizer, of 49,000 words, takes 4.0 characters for a token, larger ones
# take more. A nominal length is to be met within 10% by either; `specwatch workloads list --target` counts.
CHARACTERS_A_TOKEN = 4.05
_UNANSWERABLE = 8  # every eighth question is about something that the passages do not hold


def summarisation(nominal: int) -> Workload:
    """Return the set whose prompts are about `nominal` tokens long: papers, and what to make of them."""
    name = "summarisation"
    return Workload(
        name=name,
        category=CATEGORY,
        description="Papers of several kinds to be summarised: a long input, a short answer that repeats parts of it.",
        prompts=tuple(_papers(name, nominal, number) for number in range(1, PROMPTS + 1)),
        output_tokens=256,
        prompt_tokens=nominal,
    )


def rag(nominal: int) -> Workload:
    """Return the set whose prompts are about `nominal` tokens long: numbered passages, and a question about one."""
    name = "rag"
    return Workload(
        name=name,
        category=CATEGORY,
        description="Passages and a question that one of them answers, or none: a long input, a very short answer.",
        prompts=tuple(_passages(name, nominal, number) for number in range(1, PROMPTS + 1)),
        output_tokens=128,
        prompt_tokens=nominal,
    )


def _papers(name: str, nominal: int, number: int) -> Prompt:
    choose = Chooser(f"{name}/{nominal}/{number}")
    task = instruction(choose, "summarisation")
    found = sections(choose, characters=_room(nominal, task))
    papers = "\n\n".join(f"## {section.text}" for section in found)
    text = f"{task}\n\n{papers}" if number % 2 else f"{papers}\n\n---\n{task}"
    return Prompt(f"{name}-{nominal}-{number:02d}-papers", "papers", (("user", text),))


def _passages(name: str, nominal: int, number: int) -> Prompt:
    choose = Chooser(f"{name}/{nominal}/{number}")
    task, asked = instruction(choose, "rag"), instruction(choose, "question")
    found = sections(choose, characters=_room(nominal, task + asked))
    absent = number % _UNANSWERABLE == 0
    subject = absent_subject(choose, found) if absent else choose.one(found).facts
    passages = "\n\n".join(f"[{index}] {section.text}" for index, section in enumerate(found, start=1))
    text = f"{task}\n\n{passages}\n\nQuestion: {filled(asked, facts=subject)}"
    kind = "absent" if absent else "answered"
    return Prompt(f"{name}-{nominal}-{number:02d}-{kind}", kind, (("user", text),))


def _room(nominal: int, task: str) -> int:
    """Return the characters that are left for papers."""
    return round(nominal * CHARACTERS_A_TOKEN) - len(task)
