"""Simulated nights with known truth: request by request, as a load client would have recorded them.

A block is an opening baseline, one speculative arm and a closing baseline. What is true of the machine and of the
prompts is drawn from the spreads of a `Night`; what comes out are records and counter totals, nothing else, so that
everything the project computes from them can be compared with what went in.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.domain.request import RequestRecord

Floats = NDArray[np.float64]
POSITIONS = ("opening", "arm", "closing")
START_EVERY_S = 100.0
POPULATION = 200_000  # prompts drawn to compute a truth that has no closed form: its own error is below 0.1%


@dataclass(frozen=True)
class Night:
    """What is true. Spreads are standard deviations on the log scale."""

    decode_speedup: float = 1.3  # exp of the mean over the population of prompts of log(TPOT ratio)
    prompts: int = 8
    repetitions: int = 2
    concurrency: tuple[int, ...] = (1,)
    blocks: int = 1
    prompt_spread: float = 0.1  # of the speedup over prompts
    level_spread: float = 0.3  # of the TPOT over prompts: cancels in pairs
    start_spread: float = 0.03  # of everything a server start does
    repetition_spread: float = 0.015  # of everything a request does
    drift: float = 0.0  # log change of the machine from opening to closing baseline
    drift_spread: float = 0.0  # of that change over nights
    length_spread: float = 0.0  # of the output length, drawn anew in each arm
    failures: float = 0.0  # share of requests that the server refuses
    load: tuple[float, float] = (0.0, 0.0)  # slow-down a further request in flight: baseline, arm
    ttft_ms: float = 60.0  # speculation does not shorten it
    tpot_ms: float = 30.0
    output_tokens: int = 24
    k: int = 4
    acceptance: tuple[float, ...] = (0.8, 0.6, 0.4, 0.3)  # marginal, by position
    undrafted: float = 0.2  # share of steps without a draft

    def truth(self, concurrency: int = 1) -> dict[str, float]:
        """Return the speedups that the intervals have to contain.

        Decode: a TPOT is only ever multiplied, by the prompt's gain and by noise with mean 0 on the log scale, and
        load multiplies it by 1 + load x (requests in flight - 1): so the mean log ratio is exact.
        Latency: mean over prompts of log of (TTFT + (n - 1) TPOT) / n, baseline over arm.
        Throughput of a loop that keeps `concurrency` requests in flight: E[tokens] / E[latency] x concurrency.
        The last two have no closed form: both arms of a large population of prompts are drawn, without noise.
        """
        rng = np.random.default_rng(0)
        prompts = self._prompts(rng, POPULATION)
        slower = [1 + load * (concurrency - 1) for load in self.load]
        base, arm = (prompts.latency_ms(self, arm=i == 1) * slower[i] for i in (0, 1))
        n_base, n_arm = prompts.lengths
        per_token = np.log(base / n_base) - np.log(arm / n_arm)
        return {
            "latency_speedup": float(np.exp(per_token.mean())),
            "decode_speedup": self.decode_speedup * slower[0] / slower[1],
            "throughput_speedup": float(n_arm.sum() / arm.sum() / (n_base.sum() / base.sum())),
        }

    def windows(self, seed: int) -> Iterator["NightWindow"]:
        """Yield every repetition of every cell in the order of a block."""
        rng = np.random.default_rng(seed)
        prompts = self._prompts(rng, self.prompts)
        drift = self.drift + rng.normal(0, self.drift_spread)
        for block in range(self.blocks):
            for index, position in enumerate(POSITIONS):
                start = rng.normal(0, self.start_spread)
                totals = Counters()
                for repetition in range(self.repetitions):
                    for number, concurrency in enumerate(self.concurrency):
                        elapsed_s = START_EVERY_S * index + 10.0 * repetition + number
                        shift = start + drift * elapsed_s / (2 * START_EVERY_S)
                        arm = position == "arm"
                        served = _serve(self, prompts, arm=arm, shift=shift, concurrency=concurrency, rng=rng)
                        yield NightWindow(
                            block=block,
                            start_index=index,
                            position=position,
                            concurrency=concurrency,
                            repetition=repetition,
                            at_s=10_000.0 * block + elapsed_s,
                            records=served[0],
                            before=totals,
                            after=(totals := totals + served[1]),
                            shift=shift,
                        )

    def _prompts(self, rng: np.random.Generator, number: int) -> "_Prompts":
        lengths = np.exp(rng.normal(np.log(self.output_tokens), self.length_spread, (2, number)))
        return _Prompts(
            tpot_ms=self.tpot_ms * np.exp(rng.normal(0, self.level_spread, number)),
            gain=rng.normal(np.log(self.decode_speedup), self.prompt_spread, number),
            lengths=np.maximum(np.round(lengths), 2),
        )


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
class NightWindow:
    """One repetition, and the counter totals before and after it."""

    block: int
    start_index: int
    position: str
    concurrency: int
    repetition: int
    at_s: float
    records: tuple[RequestRecord, ...]
    before: Counters
    after: Counters
    shift: float  # true log level of the machine in this window

    @property
    def is_baseline(self) -> bool:
        """Whether this window ran without speculation."""
        return self.position != "arm"


@dataclass(frozen=True)
class _Prompts:
    """What is true of each prompt."""

    tpot_ms: Floats
    gain: Floats  # log decode speedup
    lengths: Floats  # output tokens in (baseline, arm)

    def decode_ms(self, *, arm: bool) -> Floats:
        """Time after the first token: a TPOT for each token but the first."""
        return (self.lengths[int(arm)] - 1) * self.tpot_ms * np.exp(-self.gain * arm)

    def latency_ms(self, night: Night, *, arm: bool) -> Floats:
        """Time of the whole request."""
        return night.ttft_ms + self.decode_ms(arm=arm)


@dataclass
class _Steps:
    """Cumulative tokens after each engine step of one request, and what was drafted for them."""

    tokens: NDArray[np.int64]
    counters: dict[str, Any] = field(default_factory=dict)


def _serve(
    night: Night, prompts: _Prompts, *, arm: bool, shift: float, concurrency: int, rng: np.random.Generator
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


def _steps(night: Night, length: int, *, arm: bool, rng: np.random.Generator) -> _Steps:
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
