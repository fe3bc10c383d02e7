"""The load client: closed and open loops, streaming, paired. Times are taken when bytes arrive, parsing comes after."""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pipeline.domain.request import ClientFacts
from pipeline.drive.clock import offset_ns
from pipeline.drive.conversations import chains
from pipeline.drive.load import Driven, Load
from pipeline.drive.record import unsent
from pipeline.drive.shards import process_count, run_alone, run_shards
from pipeline.drive.window import Part

__all__ = ["Driven", "Load", "drain", "drive", "warm_up"]


def drive(url: str, load: Load, *, served_model: str) -> Driven:
    """Send the prompts of `load` to the server at `url` and wait for all of them.

    Every request streams with `continuous_usage_stats`. A request that fails is a record with an error class; nothing
    is sent twice. Blocks until the last one ended, at the latest until the deadline; raises nothing for what a server
    does. Raises ValueError for a load that cannot be sent: turns out of order, no concurrency, no http address.
    """
    processes = process_count(load)
    if processes == 1:
        parts, origin_ns = run_alone(url, load, served_model=served_model)
    else:
        parts, origin_ns = run_shards(url, load, served_model=served_model, processes=processes)
    ended_ns = max(part.ended_ns for part in parts)
    records = {record.index: record for part in parts for record in part.records}
    started_at_s = (origin_ns + offset_ns()) / 1e9
    return Driven(
        requests=tuple(
            records.get(index) or unsent(index, load=load, at_ns=ended_ns) for index in range(len(load.prompts))
        ),
        started_at=datetime.fromtimestamp(started_at_s, UTC).isoformat(),
        started_at_s=started_at_s,
        ended_at_s=started_at_s + (ended_ns - origin_ns) / 1e9,
        origin_ns=origin_ns,
        client=facts(parts),
    )


def facts(parts: Sequence[Part]) -> ClientFacts:
    """Say how the client did its work: the clock is the kernel's only where it was so in every process."""
    shares = [part.cpu_s / max((part.ended_ns - part.started_ns) / 1e9, 1e-9) for part in parts]
    return ClientFacts(
        cpu_s=sum(part.cpu_s for part in parts),
        processes=len(parts),
        clock="kernel" if all(part.clock == "kernel" for part in parts) else "user",
        busiest_core_share=max(shares),
    )


def warm_up(url: str, load: Load, *, served_model: str) -> int:
    """Send at least one full wave, unmeasured; return how many requests failed.

    A wave is one conversation for each user, repeated where there are more users than conversations. An open loop has
    no users: its wave is what arrives in one second, all at once.
    """
    users = load.concurrency or max(1, math.ceil(load.request_rate or 1))
    conversations = chains(load.prompts)
    wave = [load.prompts[turn] for user in range(users) for turn in conversations[user % len(conversations)]]
    closed = replace(load, prompts=wave, concurrency=users, arrival="closed", request_rate=None)
    driven = drive(url, closed, served_model=served_model)
    return sum(1 for record in driven.requests if record.failed)


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
