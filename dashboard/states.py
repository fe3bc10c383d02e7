"""The states without data: one sentence on what is the case, one on what to run. Never a stack trace or a secret."""

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """Why a page has nothing to draw; the values are what it says."""

    EMPTY = (
        "Nothing was measured yet.",
        "Run `make demo` for a first sweep on this machine, or `specwatch ingest PATH` to load a run directory.",
    )
    NOT_CONFIGURED = (
        "The dashboard was not told where the warehouse is.",
        "Run `make demo` or `specwatch up`, which start it, or set `WAREHOUSE_URL` and start the dashboard again.",
    )
    UNREACHABLE = (
        "The warehouse does not answer.",
        "Run `specwatch status` to see what is down and `specwatch up` to start it; no restart is needed here.",
    )
    NOT_MIGRATED = (
        "The warehouse is there, but its tables or views are missing or of an older release.",
        "Run `specwatch db migrate`, then reload this page.",
    )
    REFUSED = (
        "The warehouse refused this dashboard's user or password.",
        "Check `WAREHOUSE_READER_URL`, or `WAREHOUSE_URL`: it needs SELECT on the views of the schema `warehouse`.",
    )

    @property
    def sentence(self) -> str:
        """What is the case."""
        return self.value[0]

    @property
    def next_step(self) -> str:
        """What to do."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Explained:
    """A state on a page, with what the warehouse said where it said something."""

    state: State
    detail: str | None = None
