"""The mock server: compiled when it is missing, started for one run, read for the truth when it ends."""

import array
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("client_mock.c")
_STOP_S = 20


@dataclass(frozen=True)
class Beat:
    """What the server does: `streams` at once, each with a chunk every interval, in so many slots."""

    name: str
    streams: int
    chunks: int  # of one stream
    interval_us: int
    slots: int  # 1: all streams in lockstep
    waves: int = 1  # requests of one user, one after the other

    @property
    def nominal_per_s(self) -> float:
        """Chunks a second while every stream is open."""
        return self.streams * 1e6 / self.interval_us

    @property
    def requests(self) -> int:
        """How many are sent in all."""
        return self.streams * self.waves


@dataclass(frozen=True)
class Truth:
    """One request as the server had it: times in ns on CLOCK_MONOTONIC."""

    arrival_ns: int
    sent_ns: tuple[int, ...]

    @property
    def ttft_ms(self) -> float:
        """From the request's arrival to the first send."""
        return (self.sent_ns[0] - self.arrival_ns) / 1e6

    @property
    def tpot_ms(self) -> float:
        """Mean interval between sends; every chunk is one token."""
        return (self.sent_ns[-1] - self.sent_ns[0]) / (len(self.sent_ns) - 1) / 1e6


@dataclass(frozen=True)
class Measured:
    """One request as a client had it."""

    stream: int
    ttft_ms: float
    tpot_ms: float
    tokens: int


@dataclass(frozen=True)
class Outcome:
    """What a client made of one run. `cpu_s`: over the whole run, parsing included."""

    cpu_s: float
    requests: tuple[Measured, ...]


@dataclass(frozen=True)
class Scores:
    """One run against the truth."""

    cpu_us: float  # a chunk
    ttft_error_ms: float  # median
    ttft_error_p99_ms: float
    tpot_error_p99: float  # %, absolute
    delivered: float  # %, of the nominal chunk rate
    per_s: float  # chunks


class NoCompilerError(Exception):
    """There is no C compiler here."""


def compile_mock(directory: Path) -> Path:
    """Compile the server. Raises NoCompilerError."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        message = "no C compiler (cc, gcc, clang): install one, Debian: apt-get install gcc libc6-dev"
        raise NoCompilerError(message)
    program = directory / "mock"
    done = subprocess.run(
        [compiler, "-O2", "-o", str(program), str(SOURCE)], check=False, capture_output=True, text=True
    )
    if done.returncode:
        message = f"{compiler} could not compile {SOURCE.name}: {done.stderr.strip()[:300]}"
        raise NoCompilerError(message)
    return program


def run(beat: Beat, client: Callable[[str], Outcome], *, mock: Path, core: int) -> Scores:
    """Start the server on `core`, let `client` send to its URL, and compare."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "truth"
        argv = [str(mock), str(log), str(beat.chunks), str(beat.interval_us), str(beat.slots), str(core)]
        server = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            outcome = client(f"http://127.0.0.1:{server.stdout.readline().strip()}")
        finally:
            server.terminate()
            server.wait(timeout=_STOP_S)
            server.stdout.close()
        return scores(outcome, read_truth(log), beat=beat)


def read_truth(log: Path) -> dict[int, Truth]:
    """Return what the server logged, by stream; of a stream that was asked for twice, the later request."""
    numbers = array.array("q", log.read_bytes())
    found: dict[int, Truth] = {}
    at = 0
    while at < len(numbers):  # newest first
        stream, chunks, arrival = numbers[at : at + 3]
        truth = Truth(arrival, tuple(numbers[at + 3 : at + 3 + chunks]))
        found.setdefault(stream, truth)
        at += 3 + chunks
    return found


def scores(outcome: Outcome, truth: dict[int, Truth], *, beat: Beat) -> Scores:
    """Compare a client's figures with the truth. Raises RuntimeError when it lost a request or a token."""
    whole = [m for m in outcome.requests if m.tokens == beat.chunks == len(truth[m.stream].sent_ns)]
    if len(whole) != beat.requests:
        message = f"{beat.name}: {len(whole)} of {beat.requests} requests came back whole"
        raise RuntimeError(message)
    served = [truth[m.stream] for m in whole]
    ttft = [abs(m.ttft_ms - t.ttft_ms) for m, t in zip(whole, served, strict=True)]
    tpot = [abs(m.tpot_ms / t.tpot_ms - 1) * 100 for m, t in zip(whole, served, strict=True)]
    seconds = (max(t.sent_ns[-1] for t in served) - min(t.sent_ns[0] for t in served)) / 1e9
    chunks = beat.requests * beat.chunks
    per_s = (chunks - beat.streams) / seconds  # the clock starts with the first chunk of each user
    return Scores(
        cpu_us=outcome.cpu_s / chunks * 1e6,
        ttft_error_ms=quantile(ttft, 0.5),
        ttft_error_p99_ms=quantile(ttft, 0.99),
        tpot_error_p99=quantile(tpot, 0.99),
        delivered=per_s / beat.nominal_per_s * 100,
        per_s=per_s,
    )


def quantile(values: list[float], q: float) -> float:
    """Return the smallest value that at least a share `q` of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(q * len(ordered) * 1000) // 1000) - 1))]
