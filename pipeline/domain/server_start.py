"""One process of vLLM: when it was started, what it said of itself, how it ended."""

from dataclasses import dataclass
from typing import Literal

from pipeline.domain.engine import EngineFacts

FailureClass = Literal[
    "out_of_memory",
    "architecture_unsupported",
    "driver_too_old",
    "no_access",
    "not_found",
    "bad_flag",
    "port_taken",
    "startup_timeout",
    "engine_died",
    "killed",
    "disk_full",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a server did not serve, and what a person can do about it."""

    failure_class: FailureClass
    message: str  # what happened, with the log line that says so
    next_step: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class ServerStart:
    """start.json: one attempt at one planned start."""

    layout_version: int
    index: int
    attempt: int  # 1 is the first; a resumed block makes another
    position: str
    method_name: str
    argv: tuple[str, ...]
    environment: dict[str, str]  # what we set, secrets redacted
    started_at: str  # ISO 8601, UTC
    ready_s: float | None  # from exec to the first token; None when it never was
    facts: EngineFacts
    failure: Failure | None = None
