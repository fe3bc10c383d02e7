"""What a test asks of the server, by environment variables. Requests are numbered from 1; only chat requests count,
so the readiness probe (a completion) never shifts a number."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class Script:
    """FAKE_VLLM_<NAME>, upper case."""

    token_ms: float = 3.0  # one engine step without speculation
    speculative_step_ms: float = 4.0  # one engine step with a draft
    prefill_ms: float = 5.0
    acceptance: tuple[float, ...] = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12)  # marginal, by position, falling
    undrafted: float = 0.3  # share of steps where ngram finds nothing to draft
    stop_after: int | None = None  # natural end (finish_reason stop), tokens
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
        """Return the script of one start: without its faults where `only` or `once` say so."""
        spared = self.only is not None and self.only != method
        if not spared and self.once is not None:
            flag = Path(self.once)
            spared = flag.exists()
            flag.touch()
        if not spared:
            return self
        healthy = Script()
        return replace(self, **{name: getattr(healthy, name) for name in _FAULTS})


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
        if not name.startswith("FAKE_VLLM_") or name == "FAKE_VLLM_VERSION":
            continue
        key = name.removeprefix("FAKE_VLLM_").lower()
        if key not in Script.__dataclass_fields__:
            message = f"unknown variable {name}"
            raise ValueError(message)
        values[key] = _value(key, text)
    return Script(**values)  # type: ignore[arg-type]


def _value(key: str, text: str) -> object:
    if key == "acceptance":
        return tuple(float(rate) for rate in text.split(","))
    if key == "http_errors":
        return {int(number): int(status) for number, status in (pair.split("=") for pair in text.split(","))}
    if key in {"hang_at_start", "ignore_term"}:
        return text == "1"
    if key in {"die_at_start", "only", "once"}:
        return text
    return int(text) if key.endswith(("_at", "_after")) else float(text)
