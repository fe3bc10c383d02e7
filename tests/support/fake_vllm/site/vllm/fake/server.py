"""The HTTP side: routes, and the faults a test scripted."""

import asyncio
import os
import subprocess
import sys
import time
from argparse import Namespace
from typing import Any

from aiohttp import web

import vllm
from vllm.fake.decoding import Step, steps, token
from vllm.fake.log import KV_TOKENS, KV_TOKENS_WITH_DRAFT, say
from vllm.fake.metrics import Metrics
from vllm.fake.script import Script
from vllm.fake.streams import DONE, Answer

BROKEN_AFTER_TOKENS = 4


class Server:
    """State of one server process."""

    def __init__(self, options: Namespace, *, script: Script, engine: subprocess.Popen[bytes]) -> None:
        self.options, self.script, self.engine = options, script, engine
        self.model = (options.served_model_name or [options.model])[0]
        self.config: dict[str, Any] | None = options.speculative_config
        self.chats = 0
        self.slots = asyncio.Semaphore(options.max_num_seqs)
        self.metrics = self._new_metrics()

    def routes(self) -> web.Application:
        """Return the application."""
        app = web.Application()
        app.router.add_get("/health", self.health)
        app.router.add_get("/version", self.version)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/metrics", self.metrics_text)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/v1/completions", self.completion)
        return app

    async def health(self, request: web.Request) -> web.Response:
        """200 while the engine lives, 503 after."""
        return web.Response(status=200 if self.engine.poll() is None else 503)

    async def version(self, request: web.Request) -> web.Response:
        """The release."""
        return web.json_response({"version": vllm.__version__})

    async def models(self, request: web.Request) -> web.Response:
        """The served model."""
        entry = {"id": self.model, "object": "model", "root": self.options.model, "owned_by": "vllm"}
        entry["max_model_len"] = self.options.max_model_len
        return web.json_response({"object": "list", "data": [entry]})

    async def metrics_text(self, request: web.Request) -> web.Response:
        """The counters."""
        return web.Response(body=self.metrics.text(), headers={"Content-Type": "text/plain; version=1.0.0"})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Count the request, play its fault if it has one, else answer."""
        self.chats += 1
        number = self.chats
        body = await request.json()
        if fault := await self._fault(number):
            return fault
        prompt = "\n".join(f"{message['role']}: {message['content']}" for message in body["messages"])
        return await self._answer(request, body=body, prompt=prompt, number=number, chat=True)

    async def completion(self, request: web.Request) -> web.StreamResponse:
        """Answer; completions have no faults."""
        body = await request.json()
        return await self._answer(request, body=body, prompt=str(body["prompt"]), number=0, chat=False)

    async def _fault(self, number: int) -> web.Response | None:
        script = self.script
        if number in script.http_errors:
            return _error(script.http_errors[number], "scripted")
        if number == script.hang_at:
            await asyncio.sleep(3600)
        if number == script.reset_counters_at:
            self.metrics = self._new_metrics()
        if number == script.engine_dies_at:
            self.engine.kill()
            await asyncio.to_thread(self.engine.wait)
            say("EngineCore encountered a fatal error.", level="ERROR", who="EngineCore", where="core.py:1100")
        if self.engine.poll() is not None:
            return _error(500, "EngineCore encountered an issue. See stack trace (above) for the root cause.")
        return None

    async def _answer(
        self, request: web.Request, *, body: dict[str, Any], prompt: str, number: int, chat: bool
    ) -> web.StreamResponse:
        if body.get("model") != self.model:
            return _error(404, f"The model `{body.get('model')}` does not exist.")
        options = body.get("stream_options") or {}
        answer = Answer(
            chat=chat,
            model=self.model,
            prompt_tokens=len(prompt.split()) + (30 if chat else 0),
            continuous=bool(options.get("continuous_usage_stats")),
        )
        if not body.get("stream"):
            text, reason = await self._generate(body, prompt=prompt, answer=answer, number=number, response=None)
            return web.json_response(answer.whole(text, finish_reason=reason))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        if chat:
            await response.write(answer.role_chunk())
        await self._generate(body, prompt=prompt, answer=answer, number=number, response=response)
        if options.get("include_usage"):
            await response.write(answer.usage_chunk())
        await response.write(DONE)
        await response.write_eof()
        return response

    async def _generate(
        self, body: dict[str, Any], *, prompt: str, answer: Answer, number: int, response: web.StreamResponse | None
    ) -> tuple[str, str]:
        limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)
        stop = self.script.stop_after
        stopped = stop is not None and stop <= limit and not body.get("ignore_eos")
        total = stop if stopped and stop is not None else limit
        reason = "stop" if stopped else "length"
        metrics, began = self.metrics, time.perf_counter()
        async with self.slots:
            metrics.running.inc()
            try:
                text = await self._run(
                    prompt, total=total, reason=reason, answer=answer, number=number, response=response
                )
            finally:
                metrics.running.dec()
        metrics.finished(reason)
        metrics.e2e.observe(time.perf_counter() - began)
        return text, reason

    async def _run(
        self,
        prompt: str,
        *,
        total: int,
        reason: str,
        answer: Answer,
        number: int,
        response: web.StreamResponse | None,
    ) -> str:
        """Prefill, then one step after the other; each step is one chunk."""
        metrics, text = self.metrics, ""
        began = time.perf_counter()
        await asyncio.sleep(self.script.prefill_ms / 1000)
        metrics.ttft.observe(time.perf_counter() - began)
        metrics.prompt_tokens.inc(answer.prompt_tokens)
        first = Step(tokens=1, drafted=0, accepted=0)
        for index, step in enumerate((first, *steps(prompt, total=total, config=self.config, script=self.script))):
            if index:
                await self._step(step)
            metrics.generation_tokens.inc(step.tokens)
            made = answer.completion_tokens
            piece = "".join(token(prompt, position) for position in range(made, made + step.tokens))
            answer.completion_tokens += step.tokens
            ended = answer.completion_tokens >= total
            text += piece
            if response is not None:
                await response.write(answer.text_chunk(piece, finish_reason=reason if ended else None))
            self._break(number, answer=answer, response=response)
        return text

    async def _step(self, step: Step) -> None:
        began = time.perf_counter()
        await asyncio.sleep((self.script.speculative_step_ms if step.drafted else self.script.token_ms) / 1000)
        self.metrics.itl.observe(time.perf_counter() - began)
        self.metrics.draft(drafted=step.drafted, accepted=step.accepted)

    def _break(self, number: int, *, answer: Answer, response: web.StreamResponse | None) -> None:
        if answer.completion_tokens < BROKEN_AFTER_TOKENS or not number:
            return
        if number == self.script.die_at:
            say("EngineDeadError: EngineCore encountered an issue.", level="ERROR", where="async_llm.py:1")
            os._exit(1)  # without a word to the EngineCore, as a crash is
        if number == self.script.break_stream_at and response is not None:
            transport = response._req.transport if response._req else None  # aiohttp offers no other way
            if transport is not None:
                transport.abort()
            message = "scripted: the stream breaks here"
            raise ConnectionResetError(message)

    def _new_metrics(self) -> Metrics:
        drafts = (self.config or {}).get("method") == "draft_model"
        return Metrics(model=self.model, config=self.config, kv_tokens=KV_TOKENS_WITH_DRAFT if drafts else KV_TOKENS)


def start_engine() -> subprocess.Popen[bytes]:
    """Start the EngineCore stand-in: a child in the same process group that ends only when it is told to."""
    return subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(3600)"])


def _error(status: int, message: str) -> web.Response:
    kind = "BadRequestError" if status < 500 else "InternalServerError"
    return web.json_response({"error": {"message": message, "type": kind, "code": status}}, status=status)
