"""Prompt sets of others, read where they lie: Spec-Bench's JSONL, and any JSONL by a map of its fields."""

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.domain.workload import FieldMap, Prompt, PromptSource, Workload
from pipeline.errors import UserError

MOST_PROMPTS = 10_000  # every run directory carries its prompts
SPEC_BENCH = FieldMap(turns="turns", id="question_id", kind="category")
_CATEGORY = "public"


def read_public(source: PromptSource, *, path: Path, revision: str | None = None) -> Workload:
    """Return the set that `source` describes from the file at `path`; `revision` is its hub commit, as resolved.

    Raises UserError naming file and line for a line that cannot be read.
    """
    fields = SPEC_BENCH if source.format == "spec-bench" else source.fields or FieldMap(prompt="prompt")
    prompts: dict[str, Prompt] = {}
    for number, line in _lines(path):
        for prompt in _prompts(
            _mapping(line, where=f"{path}:{number}"), fields, number=number, where=f"{path}:{number}"
        ):
            if prompt.prompt_id in prompts:
                message = f"{path}:{number}: id {prompt.prompt_id!r} stands there twice"
                raise UserError(message)
            prompts[prompt.prompt_id] = prompt
        if len(prompts) > MOST_PROMPTS:
            message = (
                f"{path} has more than {MOST_PROMPTS} prompts: cut the part that you measure into a file of its own"
            )
            raise UserError(message)
    if not prompts:
        message = f"{path} holds no prompts: it is to have a JSON object a line"
        raise UserError(message)
    origin = f"hub:{source.hub}/{source.file}" if source.hub else str(source.path)
    return Workload(
        name=source.name,
        category=source.category or _CATEGORY,
        description=f"{'Spec-Bench' if source.format == 'spec-bench' else 'JSONL'} from {origin}.",
        prompts=tuple(prompts.values()),
        temperature=0.0 if source.temperature is None else source.temperature,
        output_tokens=source.output_tokens,
        source=origin,
        revision=revision,
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        message = f"prompts {path} cannot be read: {error.strerror}. Correct `path` in the matrix."
        raise UserError(message) from error
    except UnicodeDecodeError as error:
        message = f"prompts {path} are not UTF-8 text: {error.reason} at byte {error.start}"
        raise UserError(message) from error


def _mapping(line: str, *, where: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        message = f"{where}: not JSON: {error}"
        raise UserError(message) from error
    if not isinstance(found, dict):
        message = f"{where}: a JSON object is expected, this is a {type(found).__name__}"
        raise UserError(message)
    return found


def _prompts(line: Mapping[str, Any], fields: FieldMap, *, number: int, where: str) -> Iterator[Prompt]:
    """Yield the turns of one line: one for `prompt`, one for each text of `turns`."""
    own = str(number) if fields.id is None else str(_at(line, fields.id, where=where))
    kind = str(_at(line, fields.kind, where=where)) if fields.kind else "prompt"
    schema = _at(line, fields.response_schema, where=where) if fields.response_schema else None
    if schema is not None and not isinstance(schema, dict):
        message = f"{where}: key {fields.response_schema!r} is to hold a JSON schema (an object)"
        raise UserError(message)
    system = (("system", _text(line, fields.system, where=where)),) if fields.system else ()
    turns = _turns(line, fields, where=where)
    for turn, text in enumerate(turns, start=1):
        yield Prompt(
            prompt_id=own if len(turns) == 1 else f"{own}-{turn}",
            kind=kind,
            messages=(*(system if turn == 1 else ()), ("user", text)),
            follows=f"{own}-{turn - 1}" if turn > 1 else None,
            response_schema=schema,
        )


def _turns(line: Mapping[str, Any], fields: FieldMap, *, where: str) -> list[str]:
    if fields.turns is None:
        return [_text(line, str(fields.prompt), where=where)]
    turns = _at(line, fields.turns, where=where)
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) and t.strip() for t in turns):
        message = f"{where}: key {fields.turns!r} is to hold a list of texts, none of them empty"
        raise UserError(message)
    return turns


def _text(line: Mapping[str, Any], key: str, *, where: str) -> str:
    text = _at(line, key, where=where)
    if not isinstance(text, str) or not text.strip():
        message = f"{where}: key {key!r} is to hold a text that is not empty"
        raise UserError(message)
    return text


def _at(line: Mapping[str, Any], key: str, *, where: str) -> Any:
    """Return what `key` leads to; a dot goes into a mapping."""
    if key in line:
        return line[key]
    node: Any = line
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            known = sorted(map(str, node)) if isinstance(node, Mapping) else []
            close = difflib.get_close_matches(part, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known) or 'no keys'}"
            message = f"{where}: no key {key!r}; {hint}"
            raise UserError(message)
        node = node[part]
    return node
