"""Faults that a test scripted for one request."""

import asyncio
import os
import subprocess

from aiohttp import web

from vllm.fake.lines import say
from vllm.fake.script import Script

BROKEN_AFTER_TOKENS = 4


def error(status: int, message: str) -> web.Response:
    """Return an error in vLLM's form."""
    kind = "BadRequestError" if status < 500 else "InternalServerError"
    return web.json_response({"error": {"message": message, "type": kind, "code": status}}, status=status)


async def before_answer(number: int, *, script: Script, engine: subprocess.Popen[bytes]) -> web.Response | None:
    """Play what request `number` meets before anything is generated; return the answer it gets instead of one."""
    if number in script.http_errors:
        return error(script.http_errors[number], "scripted")
    if number == script.hang_at:
        await asyncio.sleep(3600)
    if number == script.engine_dies_at:
        await kill_engine(engine)
    if engine.poll() is not None:
        return error(500, "EngineCore encountered an issue. See stack trace (above) for the root cause.")
    return None


async def kill_engine(engine: subprocess.Popen[bytes]) -> None:
    """End the EngineCore, as a fatal error does."""
    engine.kill()
    await asyncio.to_thread(engine.wait)
    say("EngineCore encountered a fatal error.", level="ERROR", who="EngineCore", where="core.py:1100")


def inside_answer(number: int, *, tokens: int, script: Script, response: web.StreamResponse | None) -> None:
    """Play what request `number` meets after a few tokens."""
    if tokens < BROKEN_AFTER_TOKENS or not number:
        return
    if number == script.die_at:
        say("EngineDeadError: EngineCore encountered an issue.", level="ERROR", where="async_llm.py:1")
        os._exit(1)  # without a word to the EngineCore, as a crash is
    if number == script.break_stream_at and response is not None:
        transport = response._req.transport if response._req else None  # aiohttp offers no other way
        if transport is not None:
            transport.abort()
        message = "scripted: the stream breaks here"
        raise ConnectionResetError(message)
