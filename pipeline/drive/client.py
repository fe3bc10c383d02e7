"""The load client: closed loop, streaming, paired. Times are taken when bytes arrive; JSON is parsed afterwards."""

import asyncio
import contextlib
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import aiohttp
import orjson
import uvloop

from pipeline.domain.request import RequestRecord
from pipeline.domain.workload import Prompt
from pipeline.drive.stream import read_stream

CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Load:
    """What one window sends: the same in every arm."""

    prompts: Sequence[Prompt]
    concurrency: int  # requests in flight
    output_tokens: int  # max_tokens
    temperature: float
    seed: int
    request_timeout_s: float


@dataclass(slots=True)
class Driven:
    """What came back from one window, parsed."""

    requests: tuple[RequestRecord, ...]
    started_at: str  # ISO 8601, UTC
    started_at_s: float
    ended_at_s: float
    origin_ns: int
    client_cpu_s: float


@dataclass(slots=True)
class _Raw:
    """One request as it happens: only what must be taken at once."""

    index: int
    prompt: Prompt
    seed: int
    scheduled_ns: int
    sent_ns: int = 0
    end_ns: int = 0
    status: int = 0
    reads: list[tuple[int, bytes]] = field(default_factory=list)
    error: str | None = None
    error_detail: str | None = None


def drive(url: str, load: Load, *, served_model: str) -> Driven:
    """Send the prompts of `load` to the chat endpoint at `url`, `concurrency` at a time, and wait for all of them.

    Every request streams with `continuous_usage_stats`. A request that fails is a record with an error class; nothing
    is sent twice. Blocks until the last one ended; raises nothing for what a server does.
    """
    bodies = [_body(load, prompt, index=i, served_model=served_model) for i, prompt in enumerate(load.prompts)]
    started_at = datetime.now(UTC)
    cpu_before = _cpu_s()
    origin_ns = time.perf_counter_ns()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        raws = runner.run(_closed_loop(url, load, bodies))
    ended_ns = max((raw.end_ns for raw in raws), default=origin_ns)
    cpu_s = _cpu_s() - cpu_before
    return Driven(
        requests=tuple(_record(raw) for raw in raws),
        started_at=started_at.isoformat(),
        started_at_s=started_at.timestamp(),
        ended_at_s=started_at.timestamp() + (ended_ns - origin_ns) / 1e9,
        origin_ns=origin_ns,
        client_cpu_s=cpu_s,
    )


def warm_up(url: str, load: Load, *, served_model: str) -> int:
    """Send at least one full wave, unmeasured; return how many requests failed.

    A concurrency above the number of prompts repeats them.
    """
    wave = [load.prompts[i % len(load.prompts)] for i in range(load.concurrency)]
    driven = drive(url, replace(load, prompts=wave), served_model=served_model)
    return sum(1 for record in driven.requests if record.failed)


def _body(load: Load, prompt: Prompt, *, index: int, served_model: str) -> bytes:
    return orjson.dumps(
        {
            "model": served_model,
            "messages": [{"role": role, "content": content} for role, content in prompt.messages],
            "max_tokens": load.output_tokens,
            "temperature": load.temperature,
            "seed": load.seed + index,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }
    )


async def _closed_loop(url: str, load: Load, bodies: Sequence[bytes]) -> list[_Raw]:
    scheduled = time.perf_counter_ns()
    raws = [
        _Raw(index=i, prompt=prompt, seed=load.seed + i, scheduled_ns=scheduled)
        for i, prompt in enumerate(load.prompts)
    ]
    waiting = iter(zip(raws, bodies, strict=True))
    timeout = aiohttp.ClientTimeout(total=load.request_timeout_s, sock_connect=CONNECT_TIMEOUT_S)
    connector = aiohttp.TCPConnector(limit=load.concurrency, force_close=True)

    async def user(session: aiohttp.ClientSession) -> None:
        for raw, body in waiting:  # shared by all users: the order of sending is the order of the prompts
            raw.scheduled_ns = time.perf_counter_ns()
            await _send(session, url, raw, body)

    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        await asyncio.gather(*(user(session) for _ in range(load.concurrency)))
    return raws


async def _send(session: aiohttp.ClientSession, url: str, raw: _Raw, body: bytes) -> None:
    now = time.perf_counter_ns
    raw.sent_ns = now()
    try:
        async with session.post(
            f"{url}/v1/chat/completions", data=body, headers={"Content-Type": "application/json"}
        ) as response:
            raw.status = response.status
            async for read in response.content.iter_any():
                raw.reads.append((now(), read))
    except TimeoutError as error:
        raw.error, raw.error_detail = "timeout", str(error) or "no answer in time"
    except aiohttp.ClientConnectorError as error:
        raw.error, raw.error_detail = "refused", str(error)
    except (aiohttp.ClientError, OSError) as error:
        raw.error, raw.error_detail = "broken_stream", str(error) or type(error).__name__
    finally:
        raw.end_ns = now()


def _record(raw: _Raw) -> RequestRecord:
    stream = read_stream(raw.reads, status=raw.status) if raw.reads or raw.status else None
    error = raw.error or (stream.error if stream else "broken_stream")
    detail = raw.error_detail or (stream.error_detail if stream else "no answer")
    return RequestRecord(
        index=raw.index,
        prompt_id=raw.prompt.prompt_id,
        seed=raw.seed,
        scheduled_ns=raw.scheduled_ns,
        sent_ns=raw.sent_ns,
        first_chunk_ns=stream.chunk_ns[0] if stream and stream.chunk_ns else None,
        last_chunk_ns=stream.chunk_ns[-1] if stream and stream.chunk_ns else None,
        end_ns=raw.end_ns,
        prompt_tokens=stream.prompt_tokens if stream else None,
        output_tokens=stream.output_tokens if stream else None,
        chunk_ns=stream.chunk_ns if stream else (),
        chunk_tokens=stream.chunk_tokens if stream else (),
        finish_reason=stream.finish_reason if stream else None,
        text=stream.text if stream else None,
        error=error,
        error_detail=detail if error else None,
    )


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def drain(running: Callable[[], float | None], *, deadline_s: float, poll_s: float = 0.05) -> None:
    """Wait until the server says that no request runs or waits. Raises TimeoutError after `deadline_s`.

    Counters are only read from a drained server: a request astride the window would be counted in part.
    """
    until = time.monotonic() + deadline_s
    while True:
        with contextlib.suppress(OSError):
            if not running():
                return
        if time.monotonic() > until:
            message = f"the server still has requests in flight after {deadline_s:.0f} s"
            raise TimeoutError(message)
        time.sleep(poll_s)
