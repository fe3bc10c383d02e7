"""The text files of prompts/ -> prompts.

A line `=== KIND` begins an entry, and what follows is its text. In chat.txt a line `---` begins the next turn of the
user. Text files, because prompts hold code in several languages and are read and judged by people.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from pipeline.domain.workload import Prompt

_ENTRY = "=== "
_TURN = "\n---\n"


def one_turn(name: str, *, framed: Callable[[str, str], str] = lambda _kind, text: text) -> tuple[Prompt, ...]:
    """Return the prompts of set `name`, one user message each; `framed` puts (kind, text) into its surroundings."""
    return tuple(
        Prompt(prompt_id=f"{name}-{number:02d}-{kind}", kind=kind, messages=(("user", framed(kind, text)),))
        for number, (kind, text) in enumerate(entries(f"{name}.txt"), start=1)
    )


def many_turns(name: str) -> tuple[Prompt, ...]:
    """Return the turns of set `name`, conversation after conversation; a later turn follows the one before it."""
    return tuple(
        Prompt(
            prompt_id=f"{name}-{number:02d}-{kind}-{turn}",
            kind=kind,
            messages=(("user", text.strip()),),
            follows=f"{name}-{number:02d}-{kind}-{turn - 1}" if turn > 1 else None,
        )
        for number, (kind, texts) in enumerate(entries(f"{name}.txt"), start=1)
        for turn, text in enumerate(texts.split(_TURN), start=1)
    )


def entries(file: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of every entry of a file of prompts/, in order."""
    for entry in f"\n{_packaged(file)}".split(f"\n{_ENTRY}")[1:]:
        kind, _, text = entry.partition("\n")
        yield kind.strip(), text.strip("\n")


@cache
def json_schemas() -> dict[str, Any]:
    """Return the JSON schemas of set `json`, by kind of prompt."""
    schemas: dict[str, Any] = json.loads(_packaged("json-schemas.json"))
    return schemas


def _packaged(file: str) -> str:
    return (files("pipeline.workloads") / "prompts" / file).read_text(encoding="utf-8")
