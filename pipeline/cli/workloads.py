"""`specwatch workloads`: the prompt sets that a matrix can name."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.cli.output import say, say_json, table
from pipeline.domain.workload import Prompt, Workload
from pipeline.errors import EXIT_DONE, UserError
from pipeline.workloads.lengths import Lengths, characters, read_tokenizer, summary, tokens
from pipeline.workloads.sets import LENGTHS, prompt_set

if TYPE_CHECKING:
    from tokenizers import Tokenizer

COLUMNS = ("name", "category", "prompts", "temperature", "output tokens", "input", "characters", "hash")


def run(arguments: Any) -> int:
    """List the sets, or print the prompts of one."""
    tokenizer = read_tokenizer(Path(arguments.target)) if arguments.target else None
    if arguments.action == "list":
        rows = [_stated(workload, tokenizer) for workload in _all()]
        say_json(rows) if arguments.json else _list(rows)
        return EXIT_DONE
    workload = _named(arguments.name, arguments.prompt_tokens)
    counts = tokens(workload.prompts, tokenizer=tokenizer) if tokenizer else None
    prompts = [
        _document(prompt) | ({"tokens": counts[index]} if counts else {})
        for index, prompt in enumerate(workload.prompts)
    ]
    if arguments.json:
        say_json(_stated(workload, tokenizer) | {"prompts": prompts})
        return EXIT_DONE
    for prompt in prompts:
        _print(prompt)
    return EXIT_DONE


def _all() -> Iterator[Workload]:
    for name, lengths in LENGTHS.items():
        for nominal in lengths or (None,):
            yield prompt_set(name, nominal)


def _named(name: str | None, prompt_tokens: int | None) -> Workload:
    if name is None or name not in LENGTHS:
        message = f"which workload? There are: {', '.join(LENGTHS)}"
        raise UserError(message)
    lengths = LENGTHS[name]
    if prompt_tokens not in (lengths or (None,)):
        told = ", ".join(map(str, lengths))
        message = f"workload {name} comes in lengths: --prompt-tokens, one of {told}"
        if not lengths:
            message = f"workload {name} does not come in lengths: leave --prompt-tokens out"
        raise UserError(message)
    return prompt_set(name, prompt_tokens)


def _stated(workload: Workload, tokenizer: "Tokenizer | None") -> dict[str, Any]:
    counted = summary(tokens(workload.prompts, tokenizer=tokenizer)) if tokenizer else None
    return {
        "name": workload.name,
        "category": workload.category,
        "description": workload.description,
        "prompts": len(workload.prompts),
        "conversations": sum(prompt.follows is None for prompt in workload.prompts),
        "schemas": sum(prompt.response_schema is not None for prompt in workload.prompts),
        "temperature": workload.temperature,
        "output_tokens": workload.output_tokens,
        "output_rule": workload.output_rule,
        "prompt_tokens": workload.prompt_tokens,
        "characters": _spread(summary([characters(prompt) for prompt in workload.prompts])),
        "tokens": _spread(counted) if counted else None,  # without what a chat template adds
        "content_hash": workload.content_hash,
    }


def _spread(lengths: Lengths) -> dict[str, int]:
    return {"least": lengths.least, "median": lengths.median, "most": lengths.most}


def _list(rows: list[dict[str, Any]]) -> None:
    counted = any(row["tokens"] for row in rows)
    columns = (*COLUMNS[:-1], "tokens", COLUMNS[-1]) if counted else COLUMNS
    table(columns, [list(_cells(row, counted=counted)) for row in rows])
    say("input: nominal length in tokens; characters and tokens: least, median, most of a prompt's own messages")
    if counted:
        say("what a chat template adds is not counted, nor are a conversation's earlier turns")


def _cells(row: dict[str, Any], *, counted: bool) -> Iterator[object]:
    yield from (row[name] for name in ("name", "category", "prompts", "temperature", "output_tokens", "prompt_tokens"))
    for name in ("characters", "tokens") if counted else ("characters",):
        yield " ".join(map(str, row[name].values()))
    yield row["content_hash"]


def _document(prompt: Prompt) -> dict[str, Any]:
    return {
        "prompt_id": prompt.prompt_id,
        "kind": prompt.kind,
        "follows": prompt.follows,
        "messages": [{"role": role, "content": content} for role, content in prompt.messages],
        "response_schema": prompt.response_schema,
    }


def _print(prompt: dict[str, Any]) -> None:
    about = [f"follows {prompt['follows']}"] * bool(prompt["follows"])
    about += ["has a schema"] * bool(prompt["response_schema"])
    about += [f"{prompt['tokens']} tokens"] * ("tokens" in prompt)
    say(f"=== {prompt['prompt_id']}" + (f" ({', '.join(about)})" if about else ""))
    for message in prompt["messages"]:
        say(message["content"])
    say()
