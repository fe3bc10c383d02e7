"""How long prompts are, in characters and in a target model's tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tokenizers import Tokenizer

from pipeline.domain.workload import Prompt
from pipeline.errors import UserError

TOKENIZER_FILE = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Shortest, median and longest of a set's prompts."""

    least: int
    median: int
    most: int


def characters(prompt: Prompt) -> int:
    """Return the characters of a prompt's own messages."""
    return sum(len(content) for _, content in prompt.messages)


def tokens(prompts: Sequence[Prompt], *, tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the tokens of each prompt's own messages.

    What a chat template adds (roles, markers, a system prompt of its own) is not included: some 5-40 tokens a message,
    which the server's usage counts. Nor are a conversation's earlier turns: they hold the model's own answers.
    """
    texts = [content for prompt in prompts for _, content in prompt.messages]
    counts = iter(len(found) for found in tokenizer.encode_batch_fast(texts, add_special_tokens=False))
    return tuple(sum(next(counts) for _ in prompt.messages) for prompt in prompts)


def summary(values: Sequence[int]) -> Lengths:
    """Return the spread of `values`, of which there is at least one."""
    return Lengths(least=min(values), median=round(median(values)), most=max(values))


def read_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer at `path`: a model's directory, or its tokenizer.json. Raises UserError."""
    file = path / TOKENIZER_FILE if path.is_dir() else path
    if not file.is_file():
        message = (
            f"there is no {TOKENIZER_FILE} at {path}: name the directory of a model that was downloaded or prepared"
        )
        raise UserError(message)
    try:
        tokenizer: Tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing narrower
        message = f"{file} is no tokenizer that this release of tokenizers can read: {error}"
        raise UserError(message) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
