"""A workload as a matrix names it: one of ours by its name, or a public set by where it lies."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from pipeline.domain.workload import FieldMap, PromptSource
from pipeline.matrix.factors import Entry, Name


class FieldsEntry(Entry):
    """Which key of a JSONL line holds what; a dot goes into a mapping, such as `meta.id`."""

    prompt: str | None = None  # a text
    turns: str | None = None  # a list of texts: the user's side of a conversation
    id: str | None = None  # absent: the number of the line
    kind: str | None = None
    system: str | None = None
    response_schema: str | None = None


class WorkloadEntry(Entry):
    """A plain name is one of ours; with a `format` it is loaded from `path`, or from `file` of `hub`."""

    name: Name
    format: Literal["spec-bench", "jsonl"] | None = None
    path: str | None = None
    hub: str | None = None
    file: str | None = None
    revision: str | None = None
    fields: FieldsEntry | None = None
    category: Annotated[str, Field(min_length=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    output_tokens: Annotated[int, Field(ge=2)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_a_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> Any:
        return self.name if self.format is None else {k: v for k, v in handler(self).items() if v is not None}

    @model_validator(mode="after")
    def _lies_in_one_place(self) -> Self:
        if problem := self._problem():
            raise ValueError(problem)
        return self

    def _problem(self) -> str | None:
        told = {name for name in type(self).model_fields if getattr(self, name) is not None} - {"name"}
        if self.format is None:
            also = ", ".join(sorted(told))
            return f"{also}: only with a format (spec-bench or jsonl); one of ours is its plain name" if told else None
        if (self.path is None) == (self.hub is None):
            return f"workload {self.name!r} needs either `path`, or `hub` and `file`"
        if (self.hub is None) != (self.file is None) or (self.revision is not None and self.hub is None):
            return f"workload {self.name!r}: `file` and `revision` belong to a `hub` id, and a hub id needs its `file`"
        return self._fields_problem()

    def _fields_problem(self) -> str | None:
        if self.format == "spec-bench":
            return "spec-bench has its own fields (question_id, category, turns): leave `fields` out" * bool(
                self.fields
            )
        if self.fields is None or (self.fields.prompt is None) == (self.fields.turns is None):
            return f"workload {self.name!r} needs `fields` with either `prompt` or `turns`: the key that holds the text"
        return None

    def source(self) -> PromptSource | None:
        """Return where it is loaded from; None for one of ours."""
        if self.format is None:
            return None
        told = self.model_dump(exclude={"fields"}) if self.format else {}
        fields = FieldMap(**self.fields.model_dump()) if self.fields else None
        return PromptSource(**told, fields=fields)

    def resolve_path(self, base: Path) -> "WorkloadEntry":
        """Return the entry with a relative path taken from `base`."""
        if self.path is None:
            return self
        return self.model_copy(update={"path": str((base / Path(self.path).expanduser()).resolve())})
