"""What can go wrong with a server. `ServerFailed` is an outcome to record; `ServerInterrupted` ends the task."""

from pipeline.domain.server_start import Failure
from pipeline.errors import EnvironmentFault


class ServerFailed(EnvironmentFault):
    """The server did not start, or did not go on; `failure` says why and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.message} {failure.next_step}")
        self.failure = failure


class ServerDied(ServerFailed):
    """The server was ready once and serves no more."""


class ServerInterrupted(EnvironmentFault):
    """We were told to end (SIGTERM), or a process above us is gone: the server was stopped and nothing goes on."""
