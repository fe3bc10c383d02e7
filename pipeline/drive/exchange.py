"""One request as it happens: only what must be taken at once."""

from dataclasses import dataclass, field

from pipeline.drive.clock import Read


@dataclass(slots=True)
class Exchange:
    """Times are ns on the monotonic clock. `sent_ns`: the request's first byte is handed to the kernel."""

    index: int
    scheduled_ns: int
    sent_ns: int = 0
    end_ns: int = 0
    reads: list[Read] = field(default_factory=list)
    error: str | None = None
    error_detail: str | None = None

    def fail(self, error: str, detail: str) -> None:
        """Give it an error class; the first one stays."""
        if self.error is None:
            self.error, self.error_detail = error, detail
