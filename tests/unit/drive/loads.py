"""Loads of small numbers."""

from typing import Any

from pipeline.domain.request import RequestRecord
from pipeline.domain.workload import Prompt
from pipeline.drive.client import Driven, Load, drive


def prompts(number: int) -> list[Prompt]:
    """p0, p1, ... each with one message: its own id."""
    return [Prompt(f"p{i}", "json", (("user", f"p{i}"),)) for i in range(number)]


def load(number: int = 1, **more: Any) -> Load:
    """A load of plain prompts, one user."""
    usual: dict[str, Any] = {
        "prompts": prompts(number),
        "concurrency": 1,
        "output_tokens": 4,
        "temperature": 0.0,
        "seed": 7,
        "request_timeout_s": 5.0,
    }
    return Load(**(usual | more))


def driven(url: str, number: int = 1, **more: Any) -> Driven:
    """Send it."""
    return drive(url, load(number, **more), served_model="m")


def one(url: str, **more: Any) -> RequestRecord:
    """Send one prompt and return its record."""
    (record,) = driven(url, **more).requests
    return record
