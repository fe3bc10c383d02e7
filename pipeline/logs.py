"""One event a line: for a person on a terminal, JSON elsewhere; ids on every line, no secret on any.

The pipeline logs through the standard library under one name. The command line configures it here; inside Airflow the
task's own configuration stays, and adds the same ids, since it merges structlog's context variables, too.
"""

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

import structlog

NAME = "specwatch"
HIDDEN = "***"
SHORTEST_SECRET = 6  # a shorter value would blot out ordinary words

log = logging.getLogger(NAME)

_PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):([^@/\s]+)(?=@)")
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_KEY", re.IGNORECASE)

Event = MutableMapping[str, Any]


def configure(*, environment: Mapping[str, str] | None = None) -> None:
    """Send the pipeline's log to standard error; SPECWATCH_LOG=console or json overrides what a terminal decides."""
    env = os.environ if environment is None else environment
    style = env.get("SPECWATCH_LOG") or ("console" if sys.stderr.isatty() else "json")
    secrets = secrets_of(env)

    def without_secrets(_logger: object, _method: str, event: Event) -> Event:
        return {key: redact(value, secrets) if isinstance(value, str) else value for key, value in event.items()}

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso" if style == "json" else "%H:%M:%S", utc=style == "json"),
    ]
    renderer: structlog.typing.Processor = _for_a_person if style == "console" else structlog.processors.JSONRenderer()
    handler = _StandardError()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                without_secrets,  # last but one: a traceback can hold a secret, too
                renderer,
            ],
        )
    )
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False


@contextmanager
def about(**ids: str) -> Iterator[None]:
    """Put `ids` (sweep, block, cell) on every line that is logged inside."""
    with structlog.contextvars.bound_contextvars(**ids):
        yield


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that may stand on no line: of variables whose names say so, and passwords in addresses."""
    found = {value for name, value in environment.items() if _SECRET_NAME.search(name)}
    for value in environment.values():
        found.update(match.group(2) for match in _PASSWORD.finditer(value))
    return tuple(sorted((value for value in found if len(value) >= SHORTEST_SECRET), key=len, reverse=True))


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return `text` without passwords in addresses and without the known secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _PASSWORD.sub(rf"\1:{HIDDEN}", text)


def _for_a_person(_logger: object, _method: str, event: Event) -> str:
    """Time and text; the ids stay away, because the text names the cell in words."""
    trouble = "" if event.get("level") == "info" else f"{event.get('level')}: "
    traceback = f"\n{event['exception']}" if event.get("exception") else ""
    return f"{event['timestamp']} {trouble}{event['event']}{traceback}"


class _StandardError(logging.StreamHandler[TextIO]):
    """Standard error as it is now: a progress bar puts itself in its place while it is shown."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]  # read at each line, where the base class has a variable
        """Where the line goes."""
        return sys.stderr
