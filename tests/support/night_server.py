"""The server of a simulated night: what it does with prompts whose truth is known, as records and counters."""

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pipeline.domain.request import RequestRecord

if TYPE_CHECKING:
    from tests.support.nights import Night

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Counters:
    """What a server's /metrics adds up to, by the names of pipeline.measure.counters.CounterWindow."""

    generated_tokens: int = 0
    drafts: int = 0
    drafted_tokens: int = 0
    accepted_per_position: tuple[int, ...] = ()
    engine_steps: int = 0
    step_seconds: float = 0.0

    @property
    def accepted_tokens(self) -> int:
        """Over all positions."""
        return sum(self.accepted_per_position)

    def __add__(self, other: "Counters") -> "Counters":
        positions = (self.accepted_per_position, other.accepted_per_position)
        size = max(map(len, positions))
        padded = [(*p, *(0,) * (size - len(p))) for p in positions]
        return Counters(
            generated_tokens=self.generated_tokens + other.generated_tokens,
            drafts=self.drafts + other.drafts,
            drafted_tokens=self.drafted_tokens + other.drafted_tokens,
            accepted_per_position=tuple(map(sum, zip(*padded, strict=True))),
            engine_steps=self.engine_steps + other.engine_steps,
            step_seconds=self.step_seconds + other.step_seconds,
        )


@dataclass(frozen=True)
class Prompts:
    """What is true of each prompt."""

    tpot_ms: Floats
    gain: Floats  # log decode speedup
    lengths: Floats  # output tokens in (baseline, arm)

    def decode_ms(self, *, arm: bool) -> Floats:
        """Time after the first token: a TPOT for each token but the first."""
        return (self.lengths[int(arm)] - 1) * self.tpot_ms * np.exp(-self.gain * arm)

    def latency_ms(self, night: "Night", *, arm: bool) -> Floats:
        """Time of the whole request."""
        return night.ttft_ms + self.decode_ms(arm=arm)


@dataclass
class _Steps:
    """Cumulative tokens after each engine step of one request, and what was drafted for them."""

    tokens: NDArray[np.int64]
    counters: dict[str, Any] = field(default_factory=dict)


def serve(
    night: "Night", prompts: Prompts, *, arm: bool, shift: float, concurrency: int, rng: np.random.Generator
) -> tuple[tuple[RequestRecord, ...], Counters]:
    """Send the prompts in order, `concurrency` in flight, to a server whose requests all progress at one rate.

    Work is laid out in virtual time, in which nothing slows a request down. In real time, every moment takes
    1 + load x (requests in flight - 1) of it.
    """
    noise = np.exp(shift + rng.normal(0, night.repetition_spread, night.prompts))
    ttft, decode = night.ttft_ms * noise, prompts.decode_ms(arm=arm) * noise
    refused = rng.random(night.prompts) < night.failures
    work = np.where(refused, 1.0, ttft + decode)
    sent = _in_order(work, concurrency)
    to_real_ns = _clock(sent, sent + work, load=night.load[int(arm)])
    records, total = [], Counters()
    for i in range(night.prompts):
        if refused[i]:
            records.append(_refused(i, sent_ns=to_real_ns(sent[i]), end_ns=to_real_ns(sent[i] + work[i])))
            continue
        steps = _steps(night, int(prompts.lengths[int(arm), i]), arm=arm, rng=rng)
        at = sent[i] + ttft[i] + np.linspace(0, decode[i], len(steps.tokens) + 1)
        chunks = to_real_ns(at)
        records.append(_record(i, sent_ns=to_real_ns(sent[i]), chunk_ns=chunks, steps=steps))
        total += Counters(
            generated_tokens=int(steps.tokens[-1]),
            engine_steps=len(steps.tokens),
            step_seconds=float(chunks[-1] - chunks[0]) / 1e9,
            **steps.counters,
        )
    return tuple(records), total


def _in_order(work: Floats, concurrency: int) -> Floats:
    """When each request is sent in a closed loop: as soon as one of `concurrency` users is free."""
    free = [0.0] * concurrency
    sent = np.empty(len(work))
    for i, duration in enumerate(work):
        sent[i] = heapq.heappop(free)
        heapq.heappush(free, sent[i] + duration)
    return sent


def _clock(sent: Floats, ended: Floats, *, load: float) -> Any:
    """Return a function from virtual ms to real ns."""
    moments = np.concatenate(([0.0], np.sort(np.concatenate((sent, ended)))))
    middle = (moments[1:] + moments[:-1]) / 2
    in_flight = ((sent[:, None] <= middle) & (middle < ended[:, None])).sum(axis=0)
    real = np.concatenate(([0.0], np.cumsum(np.diff(moments) * (1 + load * np.maximum(in_flight - 1, 0)))))

    def to_real_ns(virtual: Any) -> Any:
        return np.rint(np.interp(virtual, moments, real) * 1e6).astype(np.int64)

    return to_real_ns


def _steps(night: "Night", length: int, *, arm: bool, rng: np.random.Generator) -> _Steps:
    """Without speculation a token a step; with it 1 + accepted, where one draw decides how far a draft holds."""
    if not arm:
        return _Steps(np.arange(2, length + 1))
    drafted = rng.random(length - 1) >= night.undrafted
    accepted = (rng.random(length - 1)[:, None] < np.array(night.acceptance)) & drafted[:, None]
    tokens = 1 + np.cumsum(1 + accepted.sum(axis=1))
    last = int(np.searchsorted(tokens, length))  # the step that reaches the limit; its output is cut there
    drafts = int(drafted[: last + 1].sum())
    return _Steps(
        np.minimum(tokens[: last + 1], length),
        {
            "drafts": drafts,
            "drafted_tokens": drafts * night.k,
            "accepted_per_position": tuple(map(int, accepted[: last + 1].sum(axis=0))),
        },
    )


def _record(index: int, *, sent_ns: Any, chunk_ns: Any, steps: _Steps) -> RequestRecord:
    times = tuple(chunk_ns.tolist())
    tokens = (1, *steps.tokens.tolist())
    return RequestRecord(
        index=index,
        prompt_id=f"p{index}",
        seed=index,
        scheduled_ns=int(sent_ns),
        sent_ns=int(sent_ns),
        first_chunk_ns=times[0],
        last_chunk_ns=times[-1],
        end_ns=times[-1],
        prompt_tokens=10,
        output_tokens=tokens[-1],
        chunk_ns=times,
        chunk_tokens=tokens,
        finish_reason="length",
        text="",
    )


def _refused(index: int, *, sent_ns: Any, end_ns: Any) -> RequestRecord:
    return RequestRecord(
        index=index,
        prompt_id=f"p{index}",
        seed=index,
        scheduled_ns=int(sent_ns),
        sent_ns=int(sent_ns),
        first_chunk_ns=None,
        last_chunk_ns=None,
        end_ns=int(end_ns),
        prompt_tokens=None,
        output_tokens=None,
        error="http_5xx",
        error_detail="HTTP 503: scripted",
    )
