"""What is asked: a named set of prompts with a category and a content hash."""

from dataclasses import dataclass

from pipeline.domain.identity import short_hash


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation to complete; `prompt_id` is stable inside its set."""

    prompt_id: str
    kind: str  # json, sql, code, poetry, brainstorming
    messages: tuple[tuple[str, str], ...]  # (role, content)


@dataclass(frozen=True, slots=True)
class Workload:
    """A prompt set. Changing any prompt changes `content_hash`, and so starts a new series."""

    name: str
    category: str  # structured, creative
    description: str
    prompts: tuple[Prompt, ...]

    @property
    def content_hash(self) -> str:
        """Hash of every prompt's id and messages, in order."""
        return short_hash({"prompts": [[p.prompt_id, [list(m) for m in p.messages]] for p in self.prompts]})

    @property
    def workload_id(self) -> str:
        """The natural key: name and content."""
        return f"{self.name}@{self.content_hash}"
