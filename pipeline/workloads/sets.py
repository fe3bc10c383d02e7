"""The prompt sets that a matrix can name, each with what it states of itself.

A set keeps its prompts for good: what was measured is known by their hash, and a changed prompt begins a new series.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial

from pipeline.domain.workload import Prompt, Workload
from pipeline.workloads.creative import CREATIVE
from pipeline.workloads.long_inputs import rag, summarisation
from pipeline.workloads.reading import entries, json_schemas, many_turns, one_turn
from pipeline.workloads.structured import STRUCTURED

NOMINAL = (1024, 4096, 16384)  # input lengths, tokens
_INSTRUCTIONS: Mapping[str, str] = {
    "code-write": "Answer with the code; at most two sentences of explanation below it.",
    "code-repair": "Return the corrected code, then name each mistake in one sentence.",
    "code-edit": "Return the whole text with the change, and nothing else.",
    "reasoning": "End with a line that begins with `Answer:`.",
}


def _plain(name: str, description: str, *, category: str, output_tokens: int, temperature: float = 0.0) -> Workload:
    below = f"\n\n{_INSTRUCTIONS[name]}" if name in _INSTRUCTIONS else ""
    return Workload(
        name=name,
        category=category,
        description=description,
        prompts=one_turn(name, framed=lambda _kind, text: text + below),
        temperature=temperature,
        output_tokens=output_tokens,
    )


def _json() -> Workload:
    schemas = json_schemas()

    def framed(kind: str, text: str) -> str:
        schema = json.dumps(schemas[kind], separators=(",", ":"))
        return (
            f"{text}\n\nTurn this into one JSON object that follows the schema below. Answer with JSON only.\n{schema}"
        )

    return Workload(
        name="json",
        category="structured",
        description="A text into JSON under a schema, free or guided: the shape is given, the words come back.",
        prompts=tuple(
            Prompt(prompt.prompt_id, prompt.kind, prompt.messages, response_schema=schemas[prompt.kind])
            for prompt in one_turn("json", framed=framed)
        ),
        output_tokens=320,
    )


def _sql() -> Workload:
    tables = dict(entries("sql-schemas.txt"))
    return Workload(
        name="sql",
        category="structured",
        description="A question over stated tables into SQL: keywords, and names that repeat those of the question.",
        prompts=one_turn(
            "sql", framed=lambda kind, text: f"Tables:\n{tables[kind]}\n\n{text}\nAnswer with SQL for PostgreSQL only."
        ),
        output_tokens=256,
    )


def _chat() -> Workload:
    return Workload(
        name="chat",
        category="chat",
        description="Conversations of four or five turns, replayed with the model's own answers: the input grows.",
        prompts=many_turns("chat"),
        output_tokens=256,
    )


_SETS: Mapping[str, Callable[[], Workload]] = {
    "structured": lambda: STRUCTURED,
    "creative": lambda: CREATIVE,
    "json": _json,
    "sql": _sql,
    "code-write": partial(
        _plain, "code-write", "Code from a description, in some thirty languages.", category="code", output_tokens=384
    ),
    "code-repair": partial(
        _plain, "code-repair", "Wrong code and its symptom: most of it comes back.", category="code", output_tokens=320
    ),
    "code-edit": partial(
        _plain,
        "code-edit",
        "A file and a change to it: the answer repeats nearly all of the input.",
        category="code",
        output_tokens=384,
    ),
    "chat": _chat,
    "brainstorming": partial(
        _plain,
        "brainstorming",
        "Lists of ideas: open answers in short items.",
        category="creative",
        output_tokens=384,
        temperature=0.8,
    ),
    "poetry": partial(
        _plain,
        "poetry",
        "Poems in many forms: hardly a word can be foreseen.",
        category="creative",
        output_tokens=320,
        temperature=0.9,
    ),
    "fiction": partial(
        _plain,
        "fiction",
        "Scenes and stories: long prose.",
        category="creative",
        output_tokens=512,
        temperature=1.0,
    ),
    "reasoning": partial(
        _plain,
        "reasoning",
        "Sums, proofs and puzzles, step by step to an answer.",
        category="reasoning",
        output_tokens=512,
    ),
}
_IN_LENGTHS: Mapping[str, Callable[[int], Workload]] = {"summarisation": summarisation, "rag": rag}

# name -> the input lengths it comes in; none: its prompts are as long as they are
LENGTHS: Mapping[str, tuple[int, ...]] = dict.fromkeys(_SETS, ()) | dict.fromkeys(_IN_LENGTHS, NOMINAL)


@cache
def prompt_set(name: str, prompt_tokens: int | None = None) -> Workload:
    """Return our set of that name; of that nominal length for a set that comes in lengths (see LENGTHS)."""
    return _SETS[name]() if prompt_tokens is None else _IN_LENGTHS[name](prompt_tokens)
