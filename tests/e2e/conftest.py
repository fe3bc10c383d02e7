"""A home of its own for every end-to-end test, and a migrated warehouse."""

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str) -> Path:
    """Point every setting at this test's directory and database."""
    path = tmp_path / "home"
    for name in (
        "SPECWATCH_VLLM_PORT",
        "SPECWATCH_START_TIMEOUT_S",
        "WAREHOUSE_URL_FILE",
        "SPECWATCH_REQUEST_TIMEOUT_S",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPECWATCH_HOME", str(path))
    monkeypatch.setenv("SPECWATCH_RUNS", str(path / "runs"))
    monkeypatch.setenv("SPECWATCH_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("WAREHOUSE_URL", database_url)
    return path
