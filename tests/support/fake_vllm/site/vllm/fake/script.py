"""What a test asks of the server, by environment variables; README.md lists them.

Requests are numbered from 1; only chat requests count, so the readiness probe (a completion) never shifts a number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class Script:
    """FAKE_VLLM_<NAME>, upper case."""

    # speed
    token_ms: float = 3.0  # one engine step without speculation
    speculative_step_ms: float = 4.0  # one engine step with a draft
    prefill_ms: float = 5.0
    load: float = 0.0  # slow-down for each further request that runs
    slowdowns: tuple[float, ...] = ()  # of everything, by server start: "1,1.05,1.1"; needs `starts`
    starts: str | None = None  # path of a file that counts the starts
    # speculation
    acceptance: tuple[float, ...] = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12)  # marginal, by position, falling
    accepted: tuple[int, ...] = ()  # instead: how many tokens each draft holds, over and over: "3,0,2"
    undrafted: float = 0.3  # share of steps where ngram finds nothing to draft
    stop_after: int | None = None  # natural end (finish_reason stop), tokens
    # stream
    steps_per_chunk: int = 1  # engine steps whose tokens share an event: a busy server merges them
    chunks_per_write: int = 1  # events that share a network write
    # faults
    start_delay_s: float = 0.0
    die_at_start: str | None = None  # a class of domain.server_start.FailureClass
    hang_at_start: bool = False
    ignore_term: bool = False
    die_at: int | None = None  # the API server ends inside this request; its EngineCore stays
    engine_dies_at: int | None = None  # the EngineCore ends; the API server answers 500 and 503
    hang_at: int | None = None
    break_stream_at: int | None = None
    reset_counters_at: int | None = None
    http_errors: dict[int, int] = field(default_factory=dict)  # "3=503,5=400"
    only: str | None = None  # faults only in the arm of this speculation method ("none": the baselines)
    once: str | None = None  # path of a flag: faults only while it is absent; it is made at once

    def for_arm(self, method: str) -> "Script":
        """Return the script of one start: as slow as it is, without its faults where `only` or `once` say so."""
        return self._slowed()._spared(method)

    def _slowed(self) -> "Script":
        if not self.slowdowns or self.starts is None:
            return self
        with Path(self.starts).open("a+") as file:
            file.write(".")
            number = file.tell()
        factor = self.slowdowns[min(number, len(self.slowdowns)) - 1]
        return replace(self, **{name: getattr(self, name) * factor for name in _TIMES})

    def _spared(self, method: str) -> "Script":
        spared = self.only is not None and self.only != method
        if not spared and self.once is not None:
            flag = Path(self.once)
            spared = flag.exists()
            flag.touch()
        if not spared:
            return self
        healthy = Script()
        return replace(self, **{name: getattr(healthy, name) for name in _FAULTS})


_TIMES = ("token_ms", "speculative_step_ms", "prefill_ms")
_FAULTS = (
    "die_at_start",
    "hang_at_start",
    "die_at",
    "engine_dies_at",
    "hang_at",
    "break_stream_at",
    "reset_counters_at",
    "http_errors",
)


def read_script(environment: Mapping[str, str]) -> Script:
    """Read the script; an unknown FAKE_VLLM_ variable is an error, so a test's typing mistake shows."""
    values: dict[str, object] = {}
    for name, text in environment.items():
        if not name.startswith("FAKE_VLLM_") or name in {"FAKE_VLLM_VERSION", "FAKE_VLLM_PLATFORM"}:
            continue
        key = name.removeprefix("FAKE_VLLM_").lower()
        if key not in Script.__dataclass_fields__:
            message = f"unknown variable {name}"
            raise ValueError(message)
        values[key] = _value(key, text)
    return Script(**values)


def _value(key: str, text: str) -> object:
    if key in {"acceptance", "slowdowns"}:
        return tuple(float(rate) for rate in text.split(","))
    if key == "accepted":
        return tuple(int(number) for number in text.split(","))
    if key == "http_errors":
        return {int(number): int(status) for number, status in (pair.split("=") for pair in text.split(","))}
    if key in {"hang_at_start", "ignore_term"}:
        return text == "1"
    if key in {"die_at_start", "only", "once", "starts"}:
        return text
    return int(text) if key.endswith(("_at", "_after", "_per_chunk", "_per_write")) else float(text)
