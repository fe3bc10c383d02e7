"""Whether our client and `vllm bench serve` measure the same on a real vLLM for CPU: same prompts, alternating runs.

`python -m tests.bench.agreement [--engine-python PATH] [--model DIR] [--rounds N]`. A round is ours, theirs, ours. What
ours differs from itself inside a round (A/A) says how much a difference must be to mean anything.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from scipy.stats import t as student

from pipeline.domain.cell import ServerSettings
from pipeline.domain.engine import Engine
from pipeline.domain.workload import Prompt
from pipeline.drive.client import Load, drive, warm_up
from pipeline.engines.argv import environment
from pipeline.engines.failures import classify
from pipeline.models.embedded import TARGET
from pipeline.serve.ports import first_free_port
from pipeline.serve.server import serve
from pipeline.settings import load_settings
from tests.bench.bars import Bar, publish
from tests.bench.client_peers import bench_serve, find_engine

SERVED_MODEL = "target"
CONCURRENCY, OUTPUT_TOKENS = 4, 48
STEADY = 0.01  # two windows in a row this near to each other: the server is warm
MOST_WARMING = 12
THINGS = ("rain", "trains", "bread", "glass", "maps", "bees", "ink", "salt", "clocks", "wool", "stars", "bridges")
USAGE = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}


@dataclass(frozen=True)
class Figures:
    """Of one run."""

    tpot_ms: float  # mean over the requests
    tokens_per_s: float


def ours(url: str, load: Load) -> Figures:
    """Drive once with our client. Raises RuntimeError when a request failed."""
    driven = drive(url, load, served_model=SERVED_MODEL)
    failed = [record.error_detail for record in driven.requests if record.failed]
    if failed:
        message = f"{len(failed)} requests failed: {failed[0]}"
        raise RuntimeError(message)
    tpots = [
        (record.chunk_ns[-1] - record.chunk_ns[0]) / (record.chunk_tokens[-1] - record.chunk_tokens[0]) / 1e6
        for record in driven.requests
        if len(record.chunk_ns) > 1
    ]
    tokens = sum(record.output_tokens or 0 for record in driven.requests)
    return Figures(fmean(tpots), tokens / (driven.ended_at_s - driven.started_at_s))


def until_steady(url: str, load: Load) -> None:
    """Drive until two windows in a row agree: a server that still gets faster would make A/A wide, and prove little."""
    before = ours(url, load).tpot_ms
    for _ in range(MOST_WARMING):
        now = ours(url, load).tpot_ms
        print(f"warming up: TPOT {before:.1f} -> {now:.1f} ms", flush=True)
        if abs(now / before - 1) <= STEADY:
            return
        before = now


def theirs(python: Path, url: str, load: Load, *, model: Path) -> Figures:
    """Drive once with `vllm bench serve`, which asks for the same running usage."""
    with tempfile.TemporaryDirectory() as directory:
        prompts = Path(directory) / "prompts.jsonl"
        lines = [json.dumps({"prompt": prompt.messages[0][1]}) for prompt in load.prompts]
        prompts.write_text("\n".join(lines) + "\n", encoding="utf-8")
        flags = ["--served-model-name", SERVED_MODEL, "--custom-output-len", str(load.output_tokens)]
        flags += ["--skip-chat-template", "--max-concurrency", str(load.concurrency), "--extra-body", json.dumps(USAGE)]
        report, _ = bench_serve(python, url, prompts=prompts, model=str(model), count=len(load.prompts), flags=flags)
    if report["completed"] != len(load.prompts):
        message = f"vllm bench serve completed {report['completed']} of {len(load.prompts)} requests"
        raise RuntimeError(message)
    return Figures(report["mean_tpot_ms"], report["output_throughput"])


def compare(name: str, unit: str, rounds: Sequence[tuple[float, float, float]]) -> Bar:
    """Return |theirs - ours| as a share of ours, against the 95% interval of the mean A/A difference, both in %."""
    level = fmean((first + second) / 2 for first, _, second in rounds)
    alike = [(second - first) / level * 100 for first, _, second in rounds]
    apart = [(other - (first + second) / 2) / level * 100 for first, other, second in rounds]
    half_width = float(student.ppf(0.975, len(rounds) - 1)) * stdev(alike) / len(rounds) ** 0.5
    peers = {
        f"ours {unit}": level,
        f"vllm bench serve {unit}": fmean(other for _, other, _ in rounds),
        "difference %": fmean(apart),
        "A/A %": fmean(alike),
    }
    name = f"{name}: |vllm bench serve - ours|, within the A/A interval"
    return Bar(name, abs(fmean(apart)), "%", half_width, n=len(rounds), peers=peers)


def measure(python: Path, model: Path, *, rounds: int) -> list[tuple[Figures, Figures, Figures]]:
    """Serve the model and run the rounds."""
    settings = load_settings()
    load = Load(
        prompts=[Prompt(thing, "bench", (("user", f"Write a long story about {thing}."),)) for thing in THINGS],
        concurrency=CONCURRENCY,
        output_tokens=OUTPUT_TOKENS,
        temperature=0.0,
        seed=0,
        request_timeout_s=120.0,
    )
    port = settings.vllm_port or first_free_port(28_600)
    print("starting vLLM: a minute or two", flush=True)
    argv = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--model", str(model), "--served-model-name", SERVED_MODEL, "--max-model-len", "2048", "--enforce-eager"]
    argv += ["--max-num-seqs", "16", "--no-enable-prefix-caching", "--generation-config", "vllm"]
    with (
        tempfile.TemporaryDirectory() as directory,
        serve(
            argv,
            environment=environment(Engine(version="0", platform="cpu"), server=ServerSettings()),
            port=port,
            served_model=SERVED_MODEL,
            log_path=Path(directory) / "server.log",
            lock_path=settings.locks / "cpu.lock",
            marker=directory,
            start_timeout_s=settings.start_timeout_s,
            classify=classify,
            report=print,
        ) as server,
    ):
        print("it is ready: warming up", flush=True)
        warm_up(server.url, load, served_model=SERVED_MODEL)
        until_steady(server.url, load)
        found = []
        for number in range(rounds):
            one = (
                ours(server.url, load),
                theirs(python, server.url, load, model=model),
                ours(server.url, load),
            )
            print(f"round {number + 1}: {one}", flush=True)
            found.append(one)
        return found


def main() -> None:
    """Measure both bars, or say why not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine-python", type=Path, help="the interpreter of a vLLM; default: an installed engine")
    parser.add_argument("--model", type=Path, help="default: the embedded model, as a sweep has prepared it")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: at least 2, or nothing says how much ours differs from itself")
    print(f"load averages: {' '.join(f'{load:.2f}' for load in os.getloadavg())}")
    python = find_engine(options.engine_python)
    model = options.model or load_settings().models / TARGET
    if python is None or not model.is_dir():
        missing = "engine (specwatch engines install 0.32.0)" if python is None else f"model in {model} (make demo)"
        bars = [
            Bar(f"agreement: {name}", None, "%", 0, n=0, why=f"no {missing}") for name in ("mean TPOT", "throughput")
        ]
    else:
        found = measure(python, model, rounds=options.rounds)
        bars = [
            compare("mean TPOT", "ms", [(a.tpot_ms, b.tpot_ms, c.tpot_ms) for a, b, c in found]),
            compare("throughput", "tok/s", [(a.tokens_per_s, b.tokens_per_s, c.tokens_per_s) for a, b, c in found]),
        ]
    print(f"load averages: {' '.join(f'{load:.2f}' for load in os.getloadavg())}")
    publish("agreement", bars)


if __name__ == "__main__":
    main()
