"""The HTTP side: routes, what is refused, and the state of one server process."""

import asyncio
import subprocess
import sys
from argparse import Namespace
from typing import Any

from aiohttp import web

import vllm
from vllm.fake import faults, log
from vllm.fake.generation import Generation
from vllm.fake.metrics import Metrics
from vllm.fake.release import REFUSES_UNDER_SPECULATION, Release
from vllm.fake.script import Script
from vllm.fake.streams import DONE, Answer


class Server:
    """State of one server process."""

    def __init__(
        self, options: Namespace, *, script: Script, engine: subprocess.Popen[bytes], release: Release
    ) -> None:
        self.options, self.script, self.engine, self.release = options, script, engine, release
        self.model = (options.served_model_name or [options.model])[0]
        self.config: dict[str, Any] | None = options.speculative_config
        self.chats = self.running = 0
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
        if number == self.script.reset_counters_at:
            self.metrics = self._new_metrics()
        if self._kills_the_engine():
            await faults.kill_engine(self.engine)
        if instead := await faults.before_answer(number, script=self.script, engine=self.engine):
            return instead
        prompt = "\n".join(f"{message['role']}: {message['content']}" for message in body["messages"])
        return await self._answer(request, body=body, prompt=prompt, number=number)

    async def completion(self, request: web.Request) -> web.StreamResponse:
        """Answer; completions have no faults, so that the readiness probe meets none."""
        body = await request.json()
        return await self._answer(request, body=body, prompt=str(body["prompt"]), number=0)

    def _kills_the_engine(self) -> bool:
        """Synthetic acceptance on CPU does, at the first draft."""
        synthetic = (self.config or {}).get("rejection_sample_method") == "synthetic"
        return synthetic and self.release.platform == "cpu"

    def _refusal(self, body: dict[str, Any]) -> web.Response | None:
        if body.get("model") != self.model:
            return faults.error(404, f"The model `{body.get('model')}` does not exist.")
        if self.config and self.release.since(REFUSES_UNDER_SPECULATION):
            for name in ("min_p", "logit_bias"):
                if body.get(name):
                    return faults.error(400, f"The {name} parameter is not supported with speculative decoding.")
        return None

    async def _answer(
        self, request: web.Request, *, body: dict[str, Any], prompt: str, number: int
    ) -> web.StreamResponse:
        if refusal := self._refusal(body):
            return refusal
        options = body.get("stream_options") or {}
        chat = "messages" in body
        answer = Answer(
            chat=chat,
            model=self.model,
            prompt_tokens=len(prompt.split()) + (30 if chat else 0),
            continuous=bool(options.get("continuous_usage_stats")),
        )
        generation = self._generation(body, prompt=prompt, number=number)
        if not body.get("stream"):
            text = await self._run(generation, answer, None)
            return web.json_response(answer.whole(text, finish_reason=generation.reason))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        if chat:
            await response.write(answer.role_chunk())
        await self._run(generation, answer, response)
        if options.get("include_usage"):
            await response.write(answer.usage_chunk())
        await response.write(DONE)
        await response.write_eof()
        return response

    async def _run(self, generation: Generation, answer: Answer, response: web.StreamResponse | None) -> str:
        metrics = generation.metrics
        async with self.slots:
            self.running += 1
            metrics.running.inc()
            try:
                return await generation.run(answer, response)
            finally:
                self.running -= 1
                metrics.running.dec()

    def _generation(self, body: dict[str, Any], *, prompt: str, number: int) -> Generation:
        limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)
        stop = self.script.stop_after
        stopped = stop is not None and stop <= limit and not body.get("ignore_eos")
        return Generation(
            prompt=prompt,
            total=stop if stopped and stop is not None else limit,
            reason="stop" if stopped else "length",
            number=number,
            config=self.config,
            script=self.script,
            metrics=self.metrics,
            running=lambda: self.running,
        )

    def _new_metrics(self) -> Metrics:
        return Metrics(
            model=self.model,
            config=None if self.options.disable_log_stats else self.config,  # which silences speculation's counters
            kv_tokens=log.kv_tokens(self.options, release=self.release),
            release=self.release,
        )


def start_engine() -> subprocess.Popen[bytes]:
    """Start the EngineCore stand-in: a child in the same process group that ends only when it is told to."""
    return subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(3600)"])
