"""Unit tests know no network. One that starts a server of its own says so: `@pytest.mark.loopback`."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Close the network for every test of this folder, but for loopback where a test asks for it."""
    for item in items:
        if HERE in item.path.parents:
            own = item.get_closest_marker("loopback")
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]) if own else pytest.mark.disable_socket)
