"""Start, serve, and stop on SIGTERM, in the order of the real server."""

import asyncio
import os
import signal
import sys
import time
from argparse import Namespace
from pathlib import Path

from aiohttp import web

import vllm
from vllm.fake import log
from vllm.fake.deaths import die
from vllm.fake.flags import parse
from vllm.fake.lines import say
from vllm.fake.release import Release
from vllm.fake.script import Script, read_script
from vllm.fake.server import Server, start_engine


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    release = Release(vllm.__version__, vllm.__platform__)
    options = parse(arguments, release=release)
    method = (options.speculative_config or {}).get("method", "none")
    script = read_script(os.environ).for_arm(method)
    log.banner(options)
    if message := release.speculation_error(options.speculative_config):
        sys.stderr.write(f"pydantic_core._pydantic_core.ValidationError: {message}\n")
        return 1
    for model in (options.model, (options.speculative_config or {}).get("model")):
        if model is not None and not (Path(model) / "config.json").is_file():
            sys.stderr.write(f"OSError: {model} is not a local folder and is not a valid model identifier\n")
            return 1
    time.sleep(script.start_delay_s)
    if script.die_at_start:
        return die(script.die_at_start)
    return asyncio.run(_serve(options, script=script, release=release))


async def _serve(options: Namespace, *, script: Script, release: Release) -> int:
    engine = start_engine()
    log.engine(options, release=release)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, (lambda: None) if script.ignore_term else stop.set)
    if script.hang_at_start:
        await stop.wait()
    server = Server(options, script=script, engine=engine, release=release)
    runner = web.AppRunner(server.routes(), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, options.host, options.port, reuse_port=True).start()  # as vLLM
        log.ready(options)
        await stop.wait()
        say("[shutdown] API server: shutdown triggered", where="launcher.py:254")
    finally:
        engine.kill()
        engine.wait()
        await runner.cleanup()
    return 0
