"""Deterministic tokens, and the steps in which an engine makes them.

The text depends on the prompt only, so every method gives the same text, as greedy speculation does.
"""

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
        accepted = _accepted(prompt, index=index, drafted=drafted, script=script, config=config)
        emitted = min(1 + accepted, total - made)
        yield Step(tokens=emitted, drafted=drafted, accepted=accepted)
        made += emitted
        index += 1


def _accepted(prompt: str, *, index: int, drafted: int, script: Script, config: dict[str, Any] | None) -> int:
    """One draw decides how far a draft holds, so that a later position is never accepted without the earlier one."""
    if script.accepted:
        return min(drafted, script.accepted[index % len(script.accepted)])
    rates = synthetic_rates(config) or script.acceptance
    draw = _unit(prompt, "accept", index)
    return sum(1 for rate in rates[:drafted] if draw < rate)


def synthetic_rates(config: dict[str, Any] | None) -> tuple[float, ...] | None:
    """Acceptance by position of `rejection_sample_method: synthetic`; None without.

    A length is reached with the least variance, as vLLM does: 2.5 at k = 3 is 1, 0.5, 0.
    """
    if not config or config.get("rejection_sample_method") != "synthetic":
        return None
    if rates := config.get("synthetic_acceptance_rates"):
        return tuple(rates)
    k = int(config["num_speculative_tokens"])
    if (length := config.get("synthetic_acceptance_length")) is not None:
        return tuple(min(1.0, max(0.0, length - 1 - position)) for position in range(k))
    rate = float(config.get("synthetic_acceptance_rate") or 0.0)  # 0.19: of every position, given the one before
    return tuple(rate ** (position + 1) for position in range(k))


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
