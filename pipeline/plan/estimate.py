"""How long a block takes: from what was recorded where it was, else from a documented estimate. Pure.

A window of a closed loop is taken as waves of `concurrency` requests, with one wave of warm-up before:

    window_s = (ceil(prompts / c) + 1) x (output_tokens x TPOT(c) + c x prompt_tokens / prefill_tokens_per_s)

An open loop sends for prompts / rate, and ends one answer later; its warm-up is one request. TPOT, by platform:

    cuda  weight bytes / (0.7 x memory bandwidth) x (1 + c / 256)   within a third of an H200 with 8B and 32B, c = 1-128
    cpu   40 ms x sqrt(c)                                           SmolLM2-135M on two cores

A draft model is taken as half as slow again: below the size where drafting pays, its steps cost more than they save.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pipeline.domain.block import Block, PlannedStart
from pipeline.domain.cell import Cell
from pipeline.domain.method import Method, drafting
from pipeline.domain.model import Shape

BANDWIDTH_SHARE = 0.7
CONCURRENCY_FOLD = 256  # requests at which a step takes twice as long
PREFILL_SHARE = 0.4  # of the dense peak
DRAFT_MODEL_FACTOR = 1.5
START_S = {"cpu": 60.0, "cuda": 120.0}
CPU_TPOT_S = 0.04
UNKNOWN_TPOT_S = 1 / 60  # a GPU or a model of which nothing is known
GIGA = 1e9

Basis = Literal["recorded", "estimate"]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What a plan is made for: stated by the matrix, or found. None where neither says it."""

    name: str
    memory_bytes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    dense_flops: float | None = None  # per s, 16 bit


@dataclass(frozen=True, slots=True)
class Recorded:
    """What earlier runs on the same hardware took, s."""

    window_s: Mapping[str, float] = field(default_factory=dict)  # series id -> measured window, without warm-up
    start_s: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (platform, target) -> exec to first token


@dataclass(frozen=True, slots=True)
class Clock:
    """Everything an estimate rests on."""

    accelerator: Accelerator | None = None
    shapes: Mapping[str, Shape] = field(default_factory=dict)  # by the model's source
    prompt_tokens: Mapping[str, int] = field(default_factory=dict)  # mean of a prompt, by workload id
    recorded: Recorded = field(default_factory=Recorded)

    def start_s(self, cell: Cell) -> float:
        """Return the time from exec to the first token, s, 0 of a server that runs already; `cell` is any of its."""
        if cell.engine.external:
            return 0.0
        platform = cell.engine.platform
        return self.recorded.start_s.get((platform, cell.target.name), START_S[platform])

    def window_s(self, cell: Cell) -> float:
        """Return the time of one repetition of `cell` with its warm-up, s."""
        known = self.recorded.window_s.get(cell.series_id) if self.recorded.window_s else None  # an id costs a hash
        if known is not None:
            return known * (1 + _warm_up_share(cell))
        if cell.request_rate is not None:
            return cell.prompts / cell.request_rate + 2 * self._answer_s(cell, in_flight=1)
        in_flight = min(cell.concurrency or 1, cell.prompts)
        waves = math.ceil(cell.prompts / in_flight) + 1
        return waves * self._answer_s(cell, in_flight=in_flight)

    def block_s(self, block: Block) -> float:
        """Return the time of a whole block, s."""
        return sum(self.planned_start_s(start, repetitions=block.repetitions) for start in block.starts)

    def planned_start_s(self, start: PlannedStart, *, repetitions: int) -> float:
        """Return the time of one server start with all its repetitions, s."""
        return self.start_s(start.cells[0]) + repetitions * sum(self.window_s(cell) for cell in start.cells)

    def basis(self, block: Block) -> Basis:
        """Return whether every figure of the block was recorded; one that was not makes it an estimate."""
        cells = [cell for start in block.starts for cell in start.cells]
        known = self.recorded.window_s
        return "recorded" if cells and all(cell.series_id in known for cell in cells) else "estimate"

    def _answer_s(self, cell: Cell, *, in_flight: int) -> float:
        return cell.output_tokens * self._tpot_s(cell, in_flight=in_flight) + self._prefill_s(cell) * in_flight

    def _tpot_s(self, cell: Cell, *, in_flight: int) -> float:
        factor = DRAFT_MODEL_FACTOR if _has_draft_model(cell.method) else 1.0
        if cell.engine.platform == "cpu":
            return CPU_TPOT_S * math.sqrt(in_flight) * factor
        size = weight_bytes(self.shapes.get(cell.target.source))
        bandwidth = self.accelerator.bandwidth_bytes_per_s if self.accelerator else None
        alone = size / (BANDWIDTH_SHARE * bandwidth) if size and bandwidth else UNKNOWN_TPOT_S
        return alone * (1 + in_flight / CONCURRENCY_FOLD) * factor

    def _prefill_s(self, cell: Cell) -> float:
        """Return the time one prompt's tokens take: 2 x parameters operations a token; 0 where that is not known."""
        shape = self.shapes.get(cell.target.source)
        flops = self.accelerator.dense_flops if self.accelerator else None
        tokens = cell.prompt_tokens or self.prompt_tokens.get(cell.workload_id, 0)
        if cell.engine.platform == "cpu" or shape is None or not shape.parameters or not flops:
            return 0.0
        return tokens * 2 * shape.parameters / (PREFILL_SHARE * flops)


def weight_bytes(shape: Shape | None, *, dtype: str = "auto") -> int | None:
    """Return the size of the weights, bytes: the checkpoint's where that is known, else parameters x dtype."""
    if shape is None:
        return None
    if shape.weight_bytes is not None:
        return shape.weight_bytes
    if shape.parameters is None:
        return None
    return shape.parameters * bytes_of(shape.dtype if dtype == "auto" else dtype)


def bytes_of(dtype: str) -> int:
    """Return the size of one number, bytes."""
    return 4 if dtype == "float32" else 2


def _has_draft_model(method: Method) -> bool:
    return drafting(method.method) == "model"


def _warm_up_share(cell: Cell) -> float:
    return min(1.0, (cell.concurrency or 1) / cell.prompts)
