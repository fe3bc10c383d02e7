"""When an engine step ends.

Steps are due at fixed times, so that a late timer does not make the next step late: a busy machine changes a request's
time by one delay, not by one a step.
"""

import asyncio
import time


class Pace:
    """The clock of one request."""

    def __init__(self) -> None:
        self._due = self._before = time.perf_counter()

    async def step(self, milliseconds: float) -> float:
        """Wait for the end of a step of this length; return what it took, in s."""
        self._due += milliseconds / 1000
        await asyncio.sleep(max(0.0, self._due - time.perf_counter()))
        now = time.perf_counter()
        took, self._before = now - self._before, now
        return took
