"""SIGTERM becomes an exception in the main thread, so that a server is stopped on the way out."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pipeline.serve.errors import ServerInterrupted


class Termination:
    """Raises ServerInterrupted in the main thread once; what comes while a server is stopped is raised after."""

    def __init__(self) -> None:
        self._in_main = threading.current_thread() is threading.main_thread()
        self._reason: str | None = None
        self._holding = False
        self._raised = False
        self._kill: Callable[[], None] | None = None

    @property
    def reason(self) -> str | None:
        """Why we have to end, once it is known."""
        return self._reason

    def kill_first(self, kill: Callable[[], None]) -> None:
        """Have `interrupt` call `kill`, from its own thread, before the main thread raises."""
        self._kill = kill

    def interrupt(self, reason: str) -> None:
        """Called from another thread: kill the server, then have the main thread raise."""
        self._reason = reason
        if self._kill:
            self._kill()
        if self._in_main:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Hold signals back while inside, and raise at the end if one came."""
        self._holding = True
        yield
        self._holding = False
        self.raise_if_due()

    def stopping(self) -> None:
        """Hold signals back from now on."""
        self._holding = True

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self._reason = self._reason or "SIGTERM was received"
        if not self._holding:
            self.raise_if_due()

    def raise_if_due(self) -> None:
        """Raise ServerInterrupted if there is a reason that was not raised yet."""
        if self._reason and not self._raised:
            self._raised = True
            message = f"{self._reason}: the server was stopped. Complete repetitions are kept; run again to go on."
            raise ServerInterrupted(message)


@contextmanager
def terminable() -> Iterator[Termination]:
    """Handle SIGTERM while inside, if this is the main thread; the old handler comes back after."""
    termination = Termination()
    if threading.current_thread() is not threading.main_thread():
        yield termination
        return
    old = signal.signal(signal.SIGTERM, termination.handle)
    try:
        yield termination
    finally:
        signal.signal(signal.SIGTERM, old if old is not None else signal.SIG_DFL)
        termination.raise_if_due()
