"""A server's log -> what the engine said of itself. What a release does not say stays None: never a guess.

Patterns were read from vLLM 0.8.5-0.33 and are tested on captured logs of 0.25.1 (H200) and 0.32.0 (CPU).
"""

import re
from dataclasses import replace

from pipeline.domain.engine import EngineFacts

WARNING_KINDS: dict[str, re.Pattern[str]] = {  # what of a log's warnings changes figures
    "jit_during_inference": re.compile(r"JIT compilation during inference"),
    "graph_downgrade": re.compile(
        r"setting cudagraph_mode=|CUDA ?[Gg]raphs? (?:is|are|will be) disabled|Disabling CUDA Graphs"
    ),
    "runner_fallback": re.compile(r"using the V1 model runner instead"),
    "async_off": re.compile(r"Async(?:hronous)? scheduling .*(?:disabled|not supported|not compatible)"),
    "feature_off": re.compile(r"will be disabled|\bis disabled|\bDisabling\b|[Ff]alling back|^Cannot use"),
}
_ASKED_FOR = re.compile(r"Enforce eager set|disabled by user settings")  # a matrix's own choice is no warning
_ON_CPU = re.compile(r"\bdevice_config=cpu\b")
_NATURAL_ON_CPU = re.compile(r"Disabling Triton")  # to 0.30 a warning, later a bare line: there is none for a CPU
_SAID_ALREADY = {"graph_downgrade", "runner_fallback", "async_off"}  # these are features, too: named once
READY = "Application startup complete"
MAX_WARNINGS = 30
_GIB = 1 << 30

_VERSION = re.compile(r"LLM engine \(v([^)]+)\)|\bversion (\d+\.\d+\S*)")
_RUNNER_V1 = re.compile(r"using the V1 model runner", re.IGNORECASE)
_RUNNER_V2 = re.compile(r"Using V2 Model Runner", re.IGNORECASE)
_ASYNC = re.compile(
    r"Asynchronous scheduling is (enabled|disabled)|Async scheduling .*?(?:will be|is) (disabled)", re.IGNORECASE
)
_ATTENTION = re.compile(
    r"Using (?:AttentionBackendEnum\.)?([A-Z][A-Z0-9_]+) (?:attention )?backend"
    r"|Using (Flash Attention|FlashInfer|Triton Attention|Torch SDPA) backend"
    r"|Using \w+ KV cache layout for ([A-Z][A-Z0-9_]+) backend"  # 0.27 and 0.28 name the one for CPU only here
)
_EAGER = re.compile(r"\benforce_eager=(True|False)")
_GRAPHS = re.compile(r"'cudagraph_mode': <CUDAGraphMode\.(\w+)|setting cudagraph_mode=(?:CUDAGraphMode\.)?(\w+)")
_KV_TOKENS = re.compile(r"KV cache size: ([\d,]+) tokens")
_KV_GIB = re.compile(r"Available KV cache memory: ([\d.]+) GiB|Explicitly set \(([\d.]+)/[\d.]+\) GiB for KV cache")
_CONCURRENCY = re.compile(r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")
_MODEL_LOADING = re.compile(r"Model loading took ([\d.]+) (?:GiB|GB)(?: memory)? and ([\d.]+) seconds")
_WEIGHTS = re.compile(r"Loading (?:model )?weights took ([\d.]+) seconds")
_COMPILATION = re.compile(r"init engine .*\(compilation: ([\d.]+) s\)")
_COMPILE = re.compile(r"torch\.compile takes? ([\d.]+) s in total|torch\.compile took ([\d.]+) s in total")
_GRAPHS_CAPTURED = re.compile(r"(?<!Encoder )[Gg]raph capturing finished in ([\d.]+) secs, took (-?[\d.]+) GiB")
_INIT = re.compile(r"init engine .*? took ([\d.]+) s")
_JIT_WATCHED = re.compile(r"JIT monitor activated")
_JIT_LINE = re.compile(r".*JIT compilation during inference: .*")
_JIT = re.compile(r"JIT compilation during inference: (\S+)")
_WARNING = re.compile(r"\bWARNING \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] (.+)")


def read(text: str) -> EngineFacts:
    """Return the facts that a log states.

    Only its start-up part counts, but for kernels that were compiled while requests ran: those come later.
    """
    startup = text.split(READY, maxsplit=1)[0]
    gib, load_s = _model_loading(startup)
    kv_gib = _number(_first(_KV_GIB, startup))
    return EngineFacts(
        vllm_version=_first(_VERSION, startup),
        model_runner=_runner(startup),
        async_scheduling=_async(startup),
        attention_backend=_attention(startup),
        cudagraph_mode=_last(_GRAPHS, startup),
        enforce_eager=_boolean(_first(_EAGER, startup)),
        kv_cache_tokens=_integer(_first(_KV_TOKENS, startup)),
        kv_cache_bytes=None if kv_gib is None else round(kv_gib * _GIB),
        max_concurrency=_number(_first(_CONCURRENCY, startup)),
        model_memory_bytes=None if gib is None else round(gib * _GIB),
        load_s=load_s,
        compile_s=_compile_s(startup),
        warnings=_warnings(startup),
        graph_capture_s=_sum(_GRAPHS_CAPTURED, 1, startup),
        graph_memory_bytes=_bytes(_sum(_GRAPHS_CAPTURED, 2, startup)),
        init_s=_number(_first(_INIT, startup)),
        jit_compilations=len(set(_JIT.findall(text))) if _JIT_WATCHED.search(startup) else None,
        warning_kinds=_kinds(text, startup=startup),
    )


def with_draft_memory(facts: EngineFacts, *, baseline: EngineFacts | None) -> EngineFacts:
    """Return `facts` of an arm with a draft, its weights' bytes as what the arm holds beyond the block's baseline.

    None where either is not logged: no release logs a draft's weights alone.
    """
    whole, target = facts.model_memory_bytes, baseline.model_memory_bytes if baseline else None
    if whole is None or target is None or whole < target:
        return facts
    return replace(facts, draft_memory_bytes=whole - target)


def _kinds(text: str, *, startup: str) -> tuple[str, ...]:
    """Classes of the warnings that matter, each once, in the order of WARNING_KINDS."""
    usual = [_ASKED_FOR, _NATURAL_ON_CPU] if _ON_CPU.search(startup) else [_ASKED_FOR]
    said = [line for line in _WARNING.findall(startup) if not any(known.search(line) for known in usual)]
    said += _JIT_LINE.findall(text)
    found = []
    for kind, pattern in WARNING_KINDS.items():
        lines = [line for line in said if pattern.search(line)]
        if kind == "feature_off":
            lines = [line for line in lines if not any(WARNING_KINDS[known].search(line) for known in _SAID_ALREADY)]
        if lines:
            found.append(kind)
    return tuple(found)


def _sum(pattern: re.Pattern[str], group: int, text: str) -> float | None:
    parts = [float(match[group]) for match in pattern.finditer(text)]
    return round(sum(parts), 6) if parts else None


def _bytes(gib: float | None) -> int | None:
    return None if gib is None else round(gib * _GIB)


def _model_loading(text: str) -> tuple[float | None, float | None]:
    """Memory in GiB and seconds. CPU logs only time the weights: one line for the target, one for a draft."""
    match = _MODEL_LOADING.search(text)
    if match:
        return float(match[1]), float(match[2])
    weights = [float(seconds) for seconds in _WEIGHTS.findall(text)]
    return None, round(sum(weights), 6) if weights else None


def _runner(text: str) -> str | None:
    """A log that says both (target V2, draft V1) has no single answer."""
    said = {name for name, pattern in (("V1", _RUNNER_V1), ("V2", _RUNNER_V2)) if pattern.search(text)}
    return said.pop() if len(said) == 1 else None


def _async(text: str) -> bool | None:
    said = _first(_ASYNC, text)
    return None if said is None else said.lower() == "enabled"


def _attention(text: str) -> str | None:
    said = _first(_ATTENTION, text)
    names = {"Flash Attention": "FLASH_ATTN", "FlashInfer": "FLASHINFER", "Triton Attention": "TRITON_ATTN"}
    return None if said is None else names.get(said, said.upper().replace(" ", "_"))


def _compile_s(text: str) -> float | None:
    """What the engine counts as compilation; older releases only time torch.compile, once a graph."""
    total = _number(_first(_COMPILATION, text))
    if total is not None:
        return total
    parts = [float(first or second) for first, second in _COMPILE.findall(text)]
    return round(sum(parts), 6) if parts else None


def _warnings(text: str) -> tuple[str, ...]:
    """Each warning once, in order of first appearance."""
    return tuple(dict.fromkeys(match.strip() for match in _WARNING.findall(text)))[:MAX_WARNINGS]


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return next((group for group in match.groups() if group), None) if match else None


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    found = [group for match in pattern.finditer(text) for group in match.groups() if group]
    return found[-1] if found else None


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _integer(text: str | None) -> int | None:
    return None if text is None else int(text.replace(",", ""))


def _boolean(text: str | None) -> bool | None:
    return None if text is None else text == "True"
