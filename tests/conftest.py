"""Fixtures every test may ask for: a real Postgres, one server a test session, one database a worker."""

import sys
import threading
from collections.abc import Generator

import pytest

from tests.support.branches import BranchBar
from tests.support.postgres import (
    database_url,
    postgres_server,
    rolled_back,
    shared_url,
    template_url,
    warehouse_url,
)

__all__ = ["database_url", "postgres_server", "rolled_back", "shared_url", "template_url", "warehouse_url"]

ALONE = ("system", "real_vllm")


def pytest_configure(config: pytest.Config) -> None:
    """Hold coverage's bar where it is measured: with `--cov`, in the process that hears all workers."""
    if getattr(config.option, "cov_source", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(BranchBar(config.rootpath / ".coverage.json"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test marked `untraced` without coverage's tracer: the marker of pytest-cov itself resumes another one's."""
    if not item.get_closest_marker("untraced"):
        return (yield)
    own, of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        threading.settrace(of_threads)
        sys.settrace(own)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests of whole systems in one worker: two systems beside each other would need twice the machine."""
    for item in items:
        if any(item.get_closest_marker(name) for name in ALONE):
            item.add_marker(pytest.mark.xdist_group("whole-system"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run when groups are not kept together: two whole systems at once are slow, not red."""
    if session.config.getoption("loadgroup", default=False):
        apart = [
            item.nodeid for item in session.items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid
        ]
        if apart:
            message = f"pytest-xdist does not keep groups together with this pytest: {apart[0]} has none"
            raise pytest.UsageError(message)
