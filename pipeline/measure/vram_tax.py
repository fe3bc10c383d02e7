"""What speculation takes of the GPU's memory, against the baseline of the same block.

`model_memory_tax_bytes` weights as loaded, this start - baseline. `kv_cache_tokens_lost` KV cache tokens, baseline -
this start: what is left for requests is less by that. `users_lost` the same / mean prompt + output tokens of this
window's requests: how many fewer are held at once. Undefined for a baseline, and where one of the two logs does not
say. A log rounds to 0.01 GiB: a tax below that is none. Source: the start-up logs (columns model_memory_bytes and
kv_cache_tokens of server_start).
"""

from pipeline.measure.ratio import mean, ratio
from pipeline.measure.window import MeasuredWindow, Metrics


def vram_tax(window: MeasuredWindow) -> Metrics:
    """Return the tax in bytes, tokens and users."""
    own, base = window.facts, window.baseline_facts
    lost = _minus(base.kv_cache_tokens if base else None, own.kv_cache_tokens)
    context = mean([(record.prompt_tokens or 0) + (record.output_tokens or 0) for record in window.good])
    return {
        "model_memory_tax_bytes": _minus(own.model_memory_bytes, base.model_memory_bytes if base else None),
        "kv_cache_tokens_lost": lost,
        "users_lost": ratio(lost, context),
    }


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other
