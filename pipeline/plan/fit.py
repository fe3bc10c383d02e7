"""Whether an arm fits into memory, from shapes alone. Pure.

    weights     parameters x bytes of the dtype (or the checkpoint's size); target and draft
    KV a token  2 x layers x kv_heads x head_dim x bytes of the dtype; of the target, plus of the draft
    allowance   1.5 GiB for CUDA graphs and the runtime + 8192 batched tokens x (4 x hidden + 2 x intermediate) x bytes
                + max_num_seqs x (1 + k) x vocabulary x 4 bytes of logits
    state       state bytes x max_num_seqs x (1 + k), of layers with linear attention
    room        gpu_memory_utilization x memory - weights - allowance - state; or what the settings say:
                kv_cache_memory_bytes (vLLM then ignores the utilization), on CPU kv_cache_gib

It fits when the room holds one request of max_model_len: vLLM refuses to start with less. When it holds fewer than
max_num_seqs of them, long requests can wait for each other, and the fit says for how many there is room.
"""

from dataclasses import dataclass
from typing import Literal

from pipeline.domain.cell import ServerSettings
from pipeline.domain.engine import Platform
from pipeline.domain.method import Method
from pipeline.domain.model import Shape
from pipeline.plan.estimate import bytes_of, weight_bytes

GIB = 1 << 30
RUNTIME_BYTES = int(1.5 * GIB)
BATCHED_TOKENS = 8192  # vLLM's default for a server on a GPU of 70 GB or more; smaller ones batch fewer
HEAD_KV_LAYERS = 1

State = Literal["fits", "does not fit", "unknown"]


@dataclass(frozen=True, slots=True)
class Fit:
    """Bytes of one arm. None where a shape or the memory is not known."""

    state: State
    reason: str  # a sentence
    memory_bytes: int | None = None  # stated or found
    weight_bytes: int | None = None
    draft_bytes: int | None = None  # 0 without a draft
    allowance_bytes: int | None = None
    room_bytes: int | None = None  # for keys and values
    kv_bytes_per_token: int | None = None
    kv_tokens: int | None = None
    longest_requests: float | None = None  # requests of max_model_len that the room holds


def fit(
    method: Method,
    *,
    target: Shape | None,
    draft: Shape | None,
    server: ServerSettings,
    platform: Platform,
    memory_bytes: int | None,
) -> Fit:
    """Return whether the arm fits, and what follows from it."""
    weights = weight_bytes(target, dtype=server.dtype)
    if target is None or weights is None:
        return Fit("unknown", "the target's sizes are not known here", memory_bytes=memory_bytes)
    drafted = weight_bytes(draft, dtype=server.dtype) if method.draft else 0
    if drafted is None:
        return Fit("unknown", "the draft's sizes are not known here", memory_bytes, weights)
    a_token = _kv_bytes(target, draft if method.draft else None, method=method, dtype=server.dtype)
    if a_token is None:
        return Fit("unknown", "the size of its keys and values is not known here", memory_bytes, weights, drafted)
    allowance = _allowance(target, server=server, method=method)
    if memory_bytes is None:
        reason = "no GPU memory is stated (hardware.memory_gib) or found"
        return Fit("unknown", reason, None, weights, drafted, allowance, kv_bytes_per_token=a_token)
    left = memory_bytes - weights - drafted
    if platform == "cpu":
        room = server.kv_cache_gib * GIB
        spare = left - room
    elif server.kv_cache_memory_bytes is not None:
        room = server.kv_cache_memory_bytes
        spare = left - allowance - room
    else:
        room = spare = left - allowance - int((1 - server.gpu_memory_utilization) * memory_bytes)
    tokens = max(0, room) // a_token
    longest = tokens / server.max_model_len
    fits = spare > 0 and longest >= 1
    return Fit(
        state="fits" if fits else "does not fit",
        reason=_reason(fits=fits, spare=spare, tokens=tokens, server=server),
        memory_bytes=memory_bytes,
        weight_bytes=weights,
        draft_bytes=drafted,
        allowance_bytes=allowance,
        room_bytes=room,
        kv_bytes_per_token=a_token,
        kv_tokens=tokens,
        longest_requests=longest,
    )


def _kv_bytes(target: Shape, draft: Shape | None, *, method: Method, dtype: str) -> int | None:
    own = _kv_of(target, dtype=dtype, layers=target.kv_layers or target.layers)
    if own is None:
        return None
    if draft is None:
        extra = _kv_of(target, dtype=dtype, layers=HEAD_KV_LAYERS) if method.method == "mtp" else 0
    elif method.draft_is_head:  # a head whose own config does not say has the target's heads
        extra = _kv_of(draft, dtype=dtype, layers=draft.layers) or _kv_of(target, dtype=dtype, layers=HEAD_KV_LAYERS)
    else:
        extra = _kv_of(draft, dtype=dtype, layers=draft.kv_layers or draft.layers)
    return None if extra is None else own + extra


def _kv_of(shape: Shape, *, dtype: str, layers: int | None) -> int | None:
    if layers is None or shape.kv_heads is None or shape.head_dim is None:
        return None
    return 2 * layers * shape.kv_heads * shape.head_dim * bytes_of(shape.dtype if dtype == "auto" else dtype)


def _allowance(target: Shape, *, server: ServerSettings, method: Method) -> int:
    a_number = bytes_of(target.dtype if server.dtype == "auto" else server.dtype)
    wide = 4 * (target.hidden_size or 0) + 2 * (target.intermediate_size or 0)
    sequences = server.max_num_seqs * (1 + (method.num_speculative_tokens or 0))
    logits = sequences * (target.vocab_size or 0) * 4
    return RUNTIME_BYTES + BATCHED_TOKENS * wide * a_number + logits + sequences * target.state_bytes


def _reason(*, fits: bool, spare: int, tokens: int, server: ServerSettings) -> str:
    if spare <= 0:
        return f"{-spare / GIB:.1f} GiB too large before a single key or value is kept"
    if not fits:
        return f"room for {tokens} tokens, fewer than max_model_len {server.max_model_len}: vLLM refuses to start"
    longest = tokens / server.max_model_len
    if longest < server.max_num_seqs:
        return (
            f"room for {longest:.1f} requests of {server.max_model_len} tokens, of max_num_seqs {server.max_num_seqs}"
        )
    return f"room for all {server.max_num_seqs} requests of {server.max_model_len} tokens"
