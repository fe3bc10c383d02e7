"""What the load client costs and how well it measures, against a server that logs the truth; peers in the same call.

`python -m tests.bench.client [--engine-python PATH] [--runs N] [--only ours]`. Server and client have a core each.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests.bench.bars import Bar, publish
from tests.bench.client_mock import Beat, NoCompilerError, Scores, compile_mock, run
from tests.bench.client_peers import Client, find_engine, in_process, vllm_bench

LOCKSTEP = Beat("256 x 100/s, lockstep", streams=256, chunks=256, interval_us=10_000, slots=1, waves=2)
STAGGERED = Beat("256 x 100/s, staggered", streams=256, chunks=256, interval_us=10_000, slots=256, waves=2)
SUSTAINED = Beat("256 x 400/s, sustained", streams=256, chunks=1200, interval_us=2_500, slots=64)
VLLM, AIOHTTP = "vllm bench serve", "aiohttp"
Runs = dict[str, list[Scores]]
Figure = Callable[[Scores], float]


def cpu(scores: Scores) -> float:
    """CPU time a chunk, us."""
    return scores.cpu_us


def ttft(scores: Scores) -> float:
    """Median error of TTFT, ms."""
    return scores.ttft_error_ms


def tpot(scores: Scores) -> float:
    """99th percentile of TPOT's absolute error, %."""
    return scores.tpot_error_p99


def middle(runs: Sequence[Scores], figure: Figure) -> float | None:
    """Return the median over the runs; None when there was none."""
    return median(figure(one) for one in runs) if runs else None


def bars(lockstep: Runs, staggered: Sequence[Scores], sustained: Sequence[Scores], *, why: dict[str, str]) -> list[Bar]:
    """State every goal."""
    ours = lockstep["ours"]

    def beside(figure: Figure) -> dict[str, float]:
        found = {who: middle(runs, figure) for who, runs in lockstep.items() if who != "ours"}
        return {who: value for who, value in found.items() if value is not None}

    def bar(name: str, runs: Sequence[Scores], figure: Figure, unit: str, goal: float, **more: object) -> Bar:
        return Bar(name, middle(runs, figure), unit, goal, n=len(runs), why=why.get("ours"), **more)

    stated = [
        bar("lockstep: CPU a chunk, parsing included", ours, cpu, "us", 10, peers=beside(cpu)),
        bar("lockstep: TTFT error, median", ours, ttft, "ms", 2, peers=beside(ttft)),
        bar("lockstep: TTFT error, p99", ours, lambda s: s.ttft_error_p99_ms, "ms", 5),
        bar("lockstep: TPOT error, p99", ours, tpot, "%", 0.1, peers=beside(tpot)),
        bar("lockstep: delivered of nominal", ours, lambda s: s.delivered, "%", 98, at_most=False),
        bar("sustained: chunks/s on one core", sustained, lambda s: s.per_s, "/s", 90_000, at_most=False),
        bar("sustained: TPOT error, p99", sustained, tpot, "%", 0.5),
        bar("staggered: CPU a chunk", staggered, cpu, "us", 12),
    ]
    for peer in (AIOHTTP, VLLM):
        for name, figure in (("CPU a chunk", cpu), ("TTFT error", ttft), ("TPOT error", tpot)):
            mine, theirs = middle(ours, figure), middle(lockstep[peer], figure)
            ratio = mine / theirs if mine is not None and theirs else None
            stated.append(Bar(f"{name}, ours / {peer}", ratio, "", 1, n=len(lockstep[peer]), why=why.get(peer)))
    return stated


def measure(beat: Beat, clients: dict[str, Client], *, runs: int, mock: Path, core: int) -> Runs:
    """Run the clients in turn, `runs` times."""
    found: Runs = {who: [] for who in clients}
    for number in range(runs):
        for who, client in clients.items():
            scores = run(beat, client, mock=mock, core=core)
            found[who].append(scores)
            print(f"{beat.name}, run {number + 1}, {who}: {told(scores)}", flush=True)
    return found


def told(scores: Scores) -> str:
    """One run for a person."""
    return (
        f"{scores.cpu_us:.2f} us a chunk, "
        f"TTFT error {scores.ttft_error_ms:.3f} ms (p99 {scores.ttft_error_p99_ms:.3f}), "
        f"TPOT error p99 {scores.tpot_error_p99:.4f}%, {scores.per_s:.0f} chunks/s ({scores.delivered:.1f}%)"
    )


def main() -> None:
    """Measure every bar that this machine can measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine-python", type=Path, help="the interpreter of a vLLM; default: an installed engine")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=["ours"], help="leave the peers out")
    options = parser.parse_args()
    print(f"load averages: {' '.join(f'{load:.2f}' for load in os.getloadavg())}")
    why: dict[str, str] = {}
    lockstep: Runs = {"ours": [], AIOHTTP: [], VLLM: []}
    staggered: Sequence[Scores] = []
    sustained: Sequence[Scores] = []
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        try:
            mock = compile_mock(Path(directory))
        except NoCompilerError as error:
            why |= dict.fromkeys(lockstep, str(error))
        else:
            if len(cores) < 2:
                why |= dict.fromkeys(lockstep, "server and client need a core each: there is one")
            else:
                clients = clients_for(LOCKSTEP, options, core=cores[0], why=why)
                lockstep |= measure(LOCKSTEP, clients, runs=options.runs, mock=mock, core=cores[-1])
                staggered, sustained = (
                    measure(
                        beat,
                        {"ours": in_process("ours", beat=beat, core=cores[0])},
                        runs=options.runs,
                        mock=mock,
                        core=cores[-1],
                    )["ours"]
                    for beat in (STAGGERED, SUSTAINED)
                )
    print(f"load averages: {' '.join(f'{load:.2f}' for load in os.getloadavg())}")
    publish("client", bars(lockstep, staggered, sustained, why=why))


def clients_for(beat: Beat, options: argparse.Namespace, *, core: int, why: dict[str, str]) -> dict[str, Client]:
    """Return who can run here; `why` gets those who cannot."""
    clients = {"ours": in_process("ours", beat=beat, core=core)}
    if options.only:
        why |= dict.fromkeys((AIOHTTP, VLLM), "left out by --only")
        return clients
    clients[AIOHTTP] = in_process("aiohttp", beat=beat, core=core)
    python = find_engine(options.engine_python)
    if python is None:
        why[VLLM] = "no engine: specwatch engines install 0.32.0, or --engine-python PATH"
    else:
        clients[VLLM] = vllm_bench(python, beat=beat, core=core)
    return clients


if __name__ == "__main__":
    main()
