"""A server that runs already on this machine: never started and never ended by us, only checked and measured."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.domain.server_start import Failure
from pipeline.errors import EnvironmentFault, UserError
from pipeline.serve import probes
from pipeline.serve.ancestors import watched
from pipeline.serve.errors import ServerDied, ServerFailed, ServerInterrupted
from pipeline.serve.lock import held
from pipeline.serve.running import SCRAPE_TIMEOUT_S
from pipeline.serve.termination import Termination, terminable

LOCAL = ("127.0.0.1", "localhost")
_TIMEOUT_S = 10.0
_FIRST_TOKEN_S = 60.0
_POSITION = re.compile(r'^vllm:spec_decode_num_accepted_tokens_per_pos(?:_total)?\{[^}]*position="(\d+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan says of a server; what can be checked of it is."""

    arm: str
    version: str
    num_speculative_tokens: int | None  # None: the baseline
    max_model_len: int


@dataclass(eq=False)
class ExternalServer:
    """A server that somebody else runs. Made by `attach` only."""

    url: str
    port: int
    served_model: str
    termination: Termination
    ready_s: float | None = None  # nobody here saw it start
    watched_pid: int | None = None

    def scrape(self) -> str:
        """Return the text of /metrics. Raises ServerDied when the server does not give it."""
        answer = probes.get(self.port, path="/metrics", timeout_s=SCRAPE_TIMEOUT_S)
        if answer is None or answer[0] != HTTPStatus.OK:
            raise ServerDied(_gone(self.url, "/metrics"))
        return answer[1]

    def check(self) -> None:
        """Raise ServerDied when the server does not answer, ServerInterrupted when we have to end."""
        if self.termination.reason:
            raise ServerInterrupted(self.termination.reason)
        answer = probes.get(self.port, path="/health", timeout_s=_TIMEOUT_S)
        if answer is None or answer[0] != HTTPStatus.OK:
            raise ServerDied(_gone(self.url, "/health"))


def port_of(url: str) -> int:
    """Return the port of `url`. Raises UserError unless it is http on this machine.

    Hardware and telemetry are read where we run: of a server elsewhere they would be another machine's.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        port = None
    if port is None or parts.scheme != "http" or parts.hostname not in LOCAL or parts.path not in ("", "/"):
        message = (
            f"external server {url!r}: write http://127.0.0.1:PORT. The machine's identity and telemetry belong to a "
            "measurement, so run Specwatch on the machine that runs the server."
        )
        raise UserError(message)
    return port


def ask_version(servers: Mapping[str, str]) -> str:
    """Return the vLLM release of external `servers` (arm -> URL): one for all, because arms are compared.

    Raises UserError when they differ, EnvironmentFault when one does not say.
    """
    said: dict[str, str] = {}
    for arm, url in servers.items():
        found = _json(port_of(url), "/version").get("version")
        if not isinstance(found, str):
            message = f"external server {url} (arm {arm}) does not answer /version. Start it, or correct its address."
            raise EnvironmentFault(message)
        said[arm] = found
    if len(set(said.values())) > 1:
        listed = ", ".join(f"{arm}: {version}" for arm, version in said.items())
        message = f"external servers run different releases ({listed}): arms of one engine must be alike."
        raise UserError(message)
    return next(iter(said.values()))


@contextmanager
def attach(
    url: str,
    *,
    expected: Expected,
    lock_path: Path,
    marker: str,
    lock_timeout_s: float = 3600.0,
    report: Callable[[str], None] = lambda _: None,
    watch_ancestors: bool = True,
) -> Iterator[ExternalServer]:
    """Hold the accelerator's lock and yield the server at `url`, once it is what the plan says.

    Raises ServerFailed when it is not or does not answer, ServerInterrupted when we have to end.
    """
    port = port_of(url)
    with (
        terminable() as termination,
        watched(termination.interrupt, enabled=watch_ancestors),
        held(lock_path, marker=marker, timeout_s=lock_timeout_s, report=report, stop_orphans=lambda _: None),
    ):
        server = ExternalServer(url=url, port=port, served_model=_served(url, port), termination=termination)
        server.check()
        for problem in _differences(server, expected):
            raise ServerFailed(_unlike(url, expected, problem))
        answer = probes.complete_one_token(port, served_model=server.served_model, timeout_s=_FIRST_TOKEN_S)
        if answer is None or answer[0] != HTTPStatus.OK:
            raise ServerFailed(_gone(url, "a first completion"))
        yield server


def _differences(server: ExternalServer, expected: Expected) -> Iterator[str]:
    """What of the plan is not true of the server, in the order that a person would look."""
    version = _json(server.port, "/version").get("version")
    if version != expected.version:
        yield f"it runs vLLM {version}, and the plan was made for {expected.version}"
    positions = len(set(_POSITION.findall(server.scrape())))
    wanted = expected.num_speculative_tokens
    if wanted is None and positions:
        yield f"it drafts {positions} tokens a step, but the baseline speculates nothing"
    elif wanted is not None and not positions:
        yield f"it does not speculate, or was started with --disable-log-stats; the arm drafts {wanted} tokens a step"
    elif wanted is not None and positions != wanted:
        yield f"it drafts {positions} tokens a step, and the arm {wanted}"
    length = _model(server.port).get("max_model_len")
    if isinstance(length, int) and length < expected.max_model_len:
        yield f"its max_model_len is {length}, less than the matrix's {expected.max_model_len}"


def _served(url: str, port: int) -> str:
    name = _model(port).get("id")
    if not isinstance(name, str):
        raise ServerFailed(_gone(url, "/v1/models"))
    return name


def _model(port: int) -> dict[str, object]:
    data = _json(port, "/v1/models").get("data")
    return data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}


def _json(port: int, path: str) -> dict[str, object]:
    answer = probes.get(port, path=path, timeout_s=_TIMEOUT_S)
    try:
        found = json.loads(answer[1]) if answer and answer[0] == HTTPStatus.OK else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _gone(url: str, what: str) -> Failure:
    return Failure(
        "engine_died",
        f"the external server {url} does not answer {what}.",
        "Start it again, then run the sweep again: Specwatch neither starts nor ends it.",
        retryable=False,
    )


def _unlike(url: str, expected: Expected, problem: str) -> Failure:
    return Failure(
        "bad_flag",
        f"the external server {url} is not arm {expected.arm}: {problem}.",
        "Start it as the matrix says, or correct the matrix.",
        retryable=False,
    )
