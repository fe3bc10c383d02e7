"""What one window sends, and what came back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.domain.cell import Arrival
from pipeline.domain.request import ClientFacts, RequestRecord
from pipeline.domain.workload import Prompt

Endpoint = Literal["chat", "completions"]


@dataclass(frozen=True, slots=True)
class Load:
    """What one window sends: the same prompts, order, seeds and planned times in every arm."""

    prompts: Sequence[Prompt]
    concurrency: int | None  # users of a closed loop; None in an open one
    output_tokens: int  # max_tokens
    temperature: float
    seed: int  # of the arrivals; request i is sampled with seed + i
    request_timeout_s: float  # from the start of connecting to the end of the stream
    arrival: Arrival = "closed"
    request_rate: float | None = None  # open loop: requests a second
    guided: bool = False  # decode prompts that carry a schema under it
    endpoint: Endpoint = "chat"
    deadline_s: float | None = None  # of the whole window: what runs then is cancelled, what waits is not sent

    def __post_init__(self) -> None:
        """Refuse a loop that has no size: nothing would ever be sent."""
        if self.arrival == "closed" and not self.concurrency:
            message = "a closed loop needs a concurrency of at least 1"
            raise ValueError(message)
        if self.arrival != "closed" and not (self.request_rate and self.request_rate > 0):
            message = f"{self.arrival} arrivals need a request rate above 0"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Driven:
    """What came back from one window, parsed."""

    requests: tuple[RequestRecord, ...]  # in the order of the prompts
    started_at: str  # ISO 8601, UTC
    started_at_s: float
    ended_at_s: float
    origin_ns: int
    client: ClientFacts
