"""How many processes send, and how they share one window: the next conversation comes from a queue common to all.

One process stores 90,000 chunks a second on one core. It is given at most half of that, so that its CPU share stays
below the 70% above which a repetition is flagged. How many chunks will come is not known before they come: a closed
loop is taken to bring 150 a user and second, which few servers reach for one user and none for many; an open loop at
most one chunk for every token it asks for.
"""

import os
import pickle
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NoReturn

from pipeline.drive.conversations import chains
from pipeline.drive.load import Load
from pipeline.drive.target import resolve
from pipeline.drive.window import Part, run_part

CHUNKS_A_PROCESS_PER_S = 50_000
CHUNKS_A_USER_PER_S = 150
START_AFTER_NS = 20_000_000  # from telling the processes when to start, to the start
NUMBER = struct.Struct("=I")  # an entry of the queue: the number of a conversation
TIME = struct.Struct("=q")
READY = b"r"
_ROOT = Path(__file__).resolve().parents[2]
_STOP_S = 5.0

Shard = subprocess.Popen[bytes]


def process_count(load: Load, *, cores: int | None = None) -> int:
    """Return how many processes send `load`: enough for the chunks it may bring, one a core at most."""
    if load.arrival == "closed":
        users = load.concurrency or 1
        chunks_per_s: float = users * CHUNKS_A_USER_PER_S
    else:
        users = len(load.prompts)
        chunks_per_s = (load.request_rate or 0) * load.output_tokens
    usable = len(os.sched_getaffinity(0)) if cores is None else cores
    return max(1, min(-(-int(chunks_per_s) // CHUNKS_A_PROCESS_PER_S), usable, users))


def run_alone(url: str, load: Load, *, served_model: str) -> tuple[list[Part], int]:
    """Send everything from this process. Return its part, and the start of the window."""
    numbers = iter(range(len(chains(load.prompts))))
    started: list[int] = []

    def origin() -> int:
        started.append(time.perf_counter_ns())
        return started[0]

    part = run_part(
        load,
        target=resolve(url),
        served_model=served_model,
        feed=lambda: next(numbers, None),
        users=load.concurrency or 0,
        origin=origin,
    )
    return [part], started[0]


def run_shards(url: str, load: Load, *, served_model: str, processes: int) -> tuple[list[Part], int]:
    """Send from `processes` processes that start together. Return their parts, and the start of the window.

    The conversations lie in a file whose offset they share: whoever is free reads the next one, so the order of
    sending is that of one process. Raises RuntimeError when one of them ends without its part.
    """
    with tempfile.TemporaryFile() as queue:
        queue.write(b"".join(NUMBER.pack(number) for number in range(len(chains(load.prompts)))))
        queue.flush()
        queue.seek(0)
        with _started(processes, queue=queue.fileno()) as shards:
            for place, shard in enumerate(shards):
                _tell(shard, pickle.dumps((url, load, served_model, place, processes)))
            for shard in shards:
                if _pipe(shard.stdout).read(1) != READY:
                    _raise_lost(shard)
            origin_ns = time.perf_counter_ns() + START_AFTER_NS
            for shard in shards:
                _tell(shard, TIME.pack(origin_ns))
            return [_part(shard) for shard in shards], origin_ns


@contextmanager
def _started(processes: int, *, queue: int) -> Iterator[list[Shard]]:
    """Start the processes; none outlives this, whatever happens."""
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(":")}
    argv = [sys.executable, "-m", "pipeline.drive.shard", str(queue), str(os.getpid())]
    with ExitStack() as stack:
        shards = []
        for _ in range(processes):
            shard = subprocess.Popen(argv, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[queue])
            stack.callback(_stop, shard)
            shards.append(shard)
        yield shards


def _stop(shard: Shard) -> None:
    for pipe in (shard.stdin, shard.stdout):
        _pipe(pipe).close()
    try:
        shard.wait(timeout=_STOP_S if shard.poll() is None else 0)
    except subprocess.TimeoutExpired:
        shard.kill()
        shard.wait()


def _tell(shard: Shard, message: bytes) -> None:
    try:
        _pipe(shard.stdin).write(message)
        _pipe(shard.stdin).flush()
    except BrokenPipeError:
        _raise_lost(shard)


def _part(shard: Shard) -> Part:
    try:
        part = pickle.load(_pipe(shard.stdout))  # noqa: S301 - written by our own process
    except (EOFError, pickle.UnpicklingError):
        _raise_lost(shard)
    if not isinstance(part, Part):
        _raise_lost(shard)
    return part


def _raise_lost(shard: Shard) -> NoReturn:
    code = shard.wait(timeout=_STOP_S)
    message = f"a process of the load client ended with status {code} before it had sent its part"
    raise RuntimeError(message)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    """Every shard has both pipes: only the type does not know it."""
    if pipe is None:
        message = "a process of the load client was started without pipes"
        raise RuntimeError(message)
    return pipe
