"""The prompt sets that a matrix can name, each with what it states of itself."""

from collections.abc import Callable, Mapping
from functools import cache

from pipeline.domain.workload import Workload
from pipeline.workloads.creative import CREATIVE
from pipeline.workloads.structured import STRUCTURED

NOMINAL = (1024, 4096, 16384)  # input lengths, tokens
_SETS: Mapping[str, Callable[[], Workload]] = {
    "structured": lambda: STRUCTURED,
    "creative": lambda: CREATIVE,
}
_IN_LENGTHS: Mapping[str, Callable[[int], Workload]] = {}

# name -> the input lengths it comes in; none: its prompts are as long as they are
LENGTHS: Mapping[str, tuple[int, ...]] = dict.fromkeys(_SETS, ()) | dict.fromkeys(_IN_LENGTHS, NOMINAL)


@cache
def prompt_set(name: str, prompt_tokens: int | None = None) -> Workload:
    """Return our set of that name; of that nominal length for a set that comes in lengths (see LENGTHS)."""
    return _SETS[name]() if prompt_tokens is None else _IN_LENGTHS[name](prompt_tokens)
