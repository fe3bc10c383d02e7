"""What is asked: a named set of prompts with a category and a content hash."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.domain.identity import short_hash


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation to complete, or one turn of it; `prompt_id` is stable inside its set.

    A turn that `follows` another is sent after that one's answer: its messages come after the earlier turn's messages
    and the model's own answer to them.
    """

    prompt_id: str
    kind: str  # json, sql, code, poetry, brainstorming
    messages: tuple[tuple[str, str], ...]  # (role, content)
    follows: str | None = None  # prompt_id of the turn before; None begins a conversation
    response_schema: Mapping[str, Any] | None = None  # JSON schema of the answer; None: any text

    def as_json(self) -> list[Any]:
        """Return what the content hash covers; a plain prompt is what it was before turns and schemas existed."""
        later = {"follows": self.follows, "response_schema": self.response_schema}
        told = {name: value for name, value in later.items() if value is not None}
        return [self.prompt_id, [list(message) for message in self.messages], *([told] if told else [])]


@dataclass(frozen=True, slots=True)
class Workload:
    """A prompt set. Changing any prompt changes `content_hash`, and so starts a new series."""

    name: str
    category: str  # structured, creative
    description: str
    prompts: tuple[Prompt, ...]
    temperature: float = 0.0  # stated for this set; the matrix may ask for another
    output_tokens: int | None = None  # stated max_tokens; None: the matrix says
    output_rule: str = "until the model stops, at most max_tokens"
    prompt_tokens: int | None = None  # nominal input length, tokens; None: each prompt has its own
    source: str = "specwatch"  # or the path or hub id it was loaded from
    revision: str | None = None  # of a hub data set, as resolved; None for ours and for files

    @property
    def content_hash(self) -> str:
        """Hash of every prompt's id and messages, in order."""
        return short_hash({"prompts": [prompt.as_json() for prompt in self.prompts]})

    @property
    def workload_id(self) -> str:
        """The natural key: name and content."""
        return f"{self.name}@{self.content_hash}"
