"""What is asked: a named set of prompts with a category and a content hash."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pipeline.domain.identity import short_hash


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation to complete, or one turn of it; `prompt_id` is stable inside its set.

    A turn that `follows` another is sent after that one's answer: its messages come after the earlier turn's messages
    and the model's own answer to them.
    """

    prompt_id: str
    kind: str  # what tells it from others of its set: a language, a schema, a form
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
    category: str  # structured, code, chat, prefill-heavy, creative, reasoning; of a public set as the matrix says
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

    def first(self, count: int) -> tuple[Prompt, ...]:
        """Return `count` prompts in order; beyond the set it begins again, with ids that end in `#2`, `#3`, ..."""
        rounds = -(-count // len(self.prompts))
        return tuple(_again(prompt, number) for number in range(1, rounds + 1) for prompt in self.prompts)[:count]

    @property
    def workload_id(self) -> str:
        """The natural key: name and content."""
        return f"{self.name}@{self.content_hash}"

    @property
    def has_schemas(self) -> bool:
        """Whether its prompts can be decoded under a JSON schema."""
        return any(prompt.response_schema is not None for prompt in self.prompts)


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Which key of a JSONL line holds what; a dot goes into a mapping. Either `prompt` or `turns` is told."""

    prompt: str | None = None  # a text
    turns: str | None = None  # a list of texts, the user's side of a conversation
    id: str | None = None  # None: the number of the line
    kind: str | None = None
    system: str | None = None
    response_schema: str | None = None


@dataclass(frozen=True, slots=True)
class PromptSource:
    """Where a public prompt set lies and how its lines are read: a path, or a file of a hub's data set."""

    name: str
    format: Literal["spec-bench", "jsonl"]
    path: str | None = None
    hub: str | None = None
    file: str | None = None
    revision: str | None = None  # as asked for: a branch, a tag or a commit
    fields: FieldMap | None = None
    category: str | None = None
    temperature: float | None = None
    output_tokens: int | None = None


def _again(prompt: Prompt, number: int) -> Prompt:
    if number == 1:
        return prompt
    follows = None if prompt.follows is None else f"{prompt.follows}#{number}"
    return replace(prompt, prompt_id=f"{prompt.prompt_id}#{number}", follows=follows)
