"""One request: prefill, then one engine step after the other; tokens go out in chunks, chunks in writes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from vllm.fake import faults
from vllm.fake.decoding import Step, steps, token
from vllm.fake.metrics import Metrics
from vllm.fake.pacing import Pace
from vllm.fake.script import Script
from vllm.fake.streams import Answer

FIRST = Step(tokens=1, drafted=0, accepted=0)  # comes with the prefill


@dataclass
class Outgoing:
    """What was generated and is not sent yet."""

    response: web.StreamResponse | None
    script: Script
    text: str = ""
    steps: int = 0
    chunks: list[bytes] = field(default_factory=list)

    async def add(self, piece: str, *, answer: Answer, finish_reason: str | None) -> None:
        """Take the text of one step; send what is due, everything at the end."""
        self.text += piece
        self.steps += 1
        ended = finish_reason is not None
        if self.response is None or not (ended or self.steps >= self.script.steps_per_chunk):
            return
        self.chunks.append(answer.text_chunk(self.text, finish_reason=finish_reason))
        self.text, self.steps = "", 0
        if ended or len(self.chunks) >= self.script.chunks_per_write:
            await self.response.write(b"".join(self.chunks))
            self.chunks.clear()


@dataclass(frozen=True)
class Generation:
    """What one request asks of the engine."""

    prompt: str
    total: int  # output tokens
    reason: str  # why it ends
    number: int  # of the chat request; 0 for a completion
    config: dict[str, Any] | None
    script: Script
    metrics: Metrics
    running: Callable[[], int]  # requests that run now

    async def run(self, answer: Answer, response: web.StreamResponse | None) -> str:
        """Generate, count and send; return the whole text."""
        began, pace = time.perf_counter(), Pace()
        self.metrics.ttft.observe(await pace.step(self._slowed(self.script.prefill_ms)))
        self.metrics.prompt_tokens.inc(answer.prompt_tokens)
        first, text = time.perf_counter(), ""
        out = Outgoing(response, self.script)
        planned = steps(self.prompt, total=self.total, config=self.config, script=self.script)
        for index, step in enumerate((FIRST, *planned)):
            if index:
                await self._step(step, pace)
            self.metrics.generation_tokens.inc(step.tokens)
            made = answer.completion_tokens
            piece = "".join(token(self.prompt, position) for position in range(made, made + step.tokens))
            answer.completion_tokens += step.tokens
            text += piece
            ended = answer.completion_tokens >= self.total
            await out.add(piece, answer=answer, finish_reason=self.reason if ended else None)
            faults.inside_answer(self.number, tokens=answer.completion_tokens, script=self.script, response=response)
        now = time.perf_counter()
        self.metrics.finished(self.reason, seconds=now - began, decode_seconds=now - first, tokens=self.total)
        return text

    async def _step(self, step: Step, pace: Pace) -> None:
        milliseconds = self.script.speculative_step_ms if step.drafted else self.script.token_ms
        self.metrics.step(await pace.step(self._slowed(milliseconds)))
        self.metrics.draft(drafted=step.drafted, accepted=step.accepted)

    def _slowed(self, milliseconds: float) -> float:
        return milliseconds * (1 + self.script.load * max(0, self.running() - 1))
