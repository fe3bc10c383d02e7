"""Simulated nights with known truth: request by request, as a load client would have recorded them.

A block is an opening baseline, one speculative arm and a closing baseline. What is true of the machine and of the
prompts is drawn from the spreads of a `Night`; what comes out are records and counter totals, nothing else, so that
everything the project computes from them can be compared with what went in.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.domain.request import RequestRecord
from tests.support.night_server import Counters, Prompts, serve

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
        found = self._truth_of(self._prompts(np.random.default_rng(0), POPULATION), concurrency=concurrency)
        slower = self._slower(concurrency)
        return found | {"decode_speedup": self.decode_speedup * slower[0] / slower[1]}

    def truth_of_night(self, seed: int, *, concurrency: int = 1) -> dict[str, float]:
        """Return the speedups of the very prompts that night `seed` draws: without noise, its estimates."""
        return self._truth_of(self._prompts(np.random.default_rng(seed), self.prompts), concurrency=concurrency)

    def _truth_of(self, prompts: Prompts, *, concurrency: int) -> dict[str, float]:
        slower = self._slower(concurrency)
        base, arm = (prompts.latency_ms(self, arm=i == 1) * slower[i] for i in (0, 1))
        n_base, n_arm = prompts.lengths
        per_token = np.log(base / n_base) - np.log(arm / n_arm)
        return {
            "latency_speedup": float(np.exp(per_token.mean())),
            "decode_speedup": float(np.exp(prompts.gain.mean())) * slower[0] / slower[1],
            "throughput_speedup": float(n_arm.sum() / arm.sum() / (n_base.sum() / base.sum())),
        }

    def _slower(self, concurrency: int) -> tuple[float, ...]:
        return tuple(1 + load * (concurrency - 1) for load in self.load)

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
                        served = serve(self, prompts, arm=arm, shift=shift, concurrency=concurrency, rng=rng)
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

    def _prompts(self, rng: np.random.Generator, number: int) -> Prompts:
        lengths = np.exp(rng.normal(np.log(self.output_tokens), self.length_spread, (2, number)))
        return Prompts(
            tpot_ms=self.tpot_ms * np.exp(rng.normal(0, self.level_spread, number)),
            gain=rng.normal(np.log(self.decode_speedup), self.prompt_spread, number),
            lengths=np.maximum(np.round(lengths), 2),
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
