"""Simulated nights with known truth: prompts, server starts, repetitions and drift each with their own spread."""

from dataclasses import dataclass

import numpy as np

from pipeline.analyze.samples import Sample, StartKey, Window

BASE, ARM = "b" * 12, "a" * 12


@dataclass(frozen=True)
class Night:
    """One block of one speculative cell. Spreads are standard deviations on the log scale."""

    log_speedup: float = 0.0
    prompts: int = 8
    repetitions: int = 2
    prompt_spread: float = 0.1  # of the speedup over prompts
    level_spread: float = 0.3  # of the latency over prompts: cancels in pairs
    start_spread: float = 0.03
    repetition_spread: float = 0.015
    drift: float = 0.0  # log change of the machine over the block

    def run(self, seed: int) -> tuple[list[Sample], list[Window]]:
        """Return samples and windows: opening at 0 s, arm at 100 s, closing at 200 s."""
        rng = np.random.default_rng(seed)
        level = rng.normal(3.4, self.level_spread, self.prompts)
        gain = rng.normal(self.log_speedup, self.prompt_spread, self.prompts)
        samples: list[Sample] = []
        windows: list[Window] = []
        for index, (cell, at) in enumerate(((BASE, 0.0), (ARM, 100.0), (BASE, 200.0))):
            start = StartKey(block_id="block", start_index=index, attempt=1)
            shift = rng.normal(0, self.start_spread) + self.drift * at / 200
            logs = level - (gain if cell == ARM else 0) + shift
            for _ in range(self.repetitions):
                per_token = np.exp(logs + rng.normal(0, self.repetition_spread, self.prompts))
                samples += [
                    Sample(cell, start, f"p{i}", e2e_latency_ms=10 * v, tpot_ms=v, output_tokens=10, failed=False)
                    for i, v in enumerate(map(float, per_token))
                ]
                windows.append(
                    Window(
                        cell,
                        start,
                        is_baseline=cell == BASE,
                        at_s=at,
                        output_tokens=10 * self.prompts,
                        window_s=float(per_token.sum()) / 100,
                    )
                )
        return samples, windows
