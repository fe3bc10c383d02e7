"""One client in a process of its own, on a core of its own.

`python -m tests.bench.client_run WHO URL REQUESTS USERS CORE` prints a JSON object: CPU time from the first request to
the last parsed answer, and the figures of every request.
"""

import asyncio
import json
import os
import resource
import sys
import time
from typing import Any

from pipeline.domain.workload import Prompt
from pipeline.drive.client import Load, drive

TOKENS = 100_000  # more than the server sends


def ours(url: str, *, requests: int, users: int) -> list[list[float]]:
    """Drive with the product's own client."""
    prompts = [Prompt(f"p{i}", "bench", (("user", f"stream-{i} " + "word " * 40),)) for i in range(requests)]
    load = Load(
        prompts=prompts,
        concurrency=users,
        output_tokens=TOKENS,
        temperature=0.0,
        seed=0,
        request_timeout_s=120.0,
    )
    found = drive(url, load, served_model="m")
    return [
        [
            record.index,
            (record.chunk_ns[0] - record.sent_ns) / 1e6,
            (record.chunk_ns[-1] - record.chunk_ns[0]) / (len(record.chunk_ns) - 1) / 1e6,
            record.output_tokens or 0,
        ]
        for record in found.requests
        if not record.failed
    ]


def with_aiohttp(url: str, *, requests: int, users: int) -> list[list[float]]:
    """Drive with aiohttp as one would write it: a time for each read, JSON parsed after the window."""
    import aiohttp

    async def send(session: Any, number: int) -> tuple[int, int, list[tuple[int, bytes]]]:
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": f"stream-{number} " + "word " * 40}],
            "max_tokens": TOKENS,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }
        sent = time.perf_counter_ns()
        async with session.post(f"{url}/v1/chat/completions", json=body) as response:
            reads = [(time.perf_counter_ns(), content) async for content in response.content.iter_any()]
        return number, sent, reads

    async def everything() -> list[tuple[int, int, list[tuple[int, bytes]]]]:
        numbers = iter(range(requests))
        done = []

        async def user(session: Any) -> None:
            for number in numbers:
                done.append(await send(session, number))  # noqa: PERF401 - users take numbers from one iterator

        connector = aiohttp.TCPConnector(limit=users)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=120)) as session:
            await asyncio.gather(*(user(session) for _ in range(users)))
        return done

    return [figures(number, sent, reads) for number, sent, reads in asyncio.run(everything())]


def figures(number: int, sent: int, reads: list[tuple[int, bytes]]) -> list[float]:
    """Parse one stream: an event that a read cut counts at the read that ended it."""
    import orjson

    times, counts, rest = [], [0], b""
    for at, content in reads:
        *events, rest = (rest + content).split(b"\n\n")
        for event in events:
            if event == b"data: [DONE]":
                continue
            tokens = orjson.loads(event[6:])["usage"]["completion_tokens"]
            if tokens > counts[-1]:
                counts.append(tokens)
                times.append(at)
    return [number, (times[0] - sent) / 1e6, (times[-1] - times[0]) / (len(times) - 1) / 1e6, counts[-1]]


def main() -> None:
    """Run one client."""
    who, url, requests, users, core = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    drive_it = {"ours": ours, "aiohttp": with_aiohttp}[who]
    if who == "aiohttp":
        __import__("aiohttp")
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = drive_it(url, requests=int(requests), users=int(users))
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    json.dump({"cpu_s": cpu_s, "requests": found}, sys.stdout)


if __name__ == "__main__":
    main()
