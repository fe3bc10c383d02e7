"""Deterministic tokens, and the steps in which an engine makes them. The text depends on the prompt only, so every
method gives the same text, as greedy speculation does."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vllm.fake.script import Script

WORDS = (
    " alpha",
    " bravo",
    ",",
    " charlie",
    ".",
    " delta",
    "\n",
    " echo",
    " {",
    " foxtrot",
    '":',
    " golf",
    "}",
    " hotel",
)


@dataclass(frozen=True)
class Step:
    """One engine step of one request after its first token."""

    tokens: int  # emitted; can be less than 1 + accepted in the last step
    drafted: int  # 0: nothing was drafted, so vLLM counts no draft
    accepted: int  # counted before the output is cut at max_tokens, as vLLM does


def token(prompt: str, index: int) -> str:
    """Return the text of the `index`-th output token."""
    return WORDS[int(_unit(prompt, "token", index) * len(WORDS))]


def steps(prompt: str, *, total: int, config: dict[str, Any] | None, script: Script) -> Iterator[Step]:
    """Yield the steps that make tokens 2 to `total`; the first token comes with the prefill."""
    made, index = 1, 0
    while made < total:
        drafted = _drafted(prompt, index=index, config=config, script=script)
        draw = _unit(prompt, "accept", index)
        accepted = sum(1 for rate in script.acceptance[:drafted] if draw < rate)
        emitted = min(1 + accepted, total - made)
        yield Step(tokens=emitted, drafted=drafted, accepted=accepted)
        made += emitted
        index += 1


def _drafted(prompt: str, *, index: int, config: dict[str, Any] | None, script: Script) -> int:
    if config is None:
        return 0
    if config["method"] == "ngram" and _unit(prompt, "draft", index) < script.undrafted:
        return 0
    return int(config["num_speculative_tokens"])


def _unit(prompt: str, what: str, index: int) -> float:
    """A number in [0, 1) that depends on the arguments only."""
    digest = hashlib.sha256(f"{prompt}|{what}|{index}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / (1 << 48)
