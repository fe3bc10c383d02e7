"""Whether a server may have a PID namespace is tried, not guessed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.serve.fencing import namespace_command

Unshare = Callable[[str], Path]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Nothing is remembered from before, nor after."""
    namespace_command.cache_clear()
    yield
    namespace_command.cache_clear()


@pytest.fixture
def unshare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Unshare:
    """Put a program named `unshare` first on PATH: the body of a shell script."""

    def put(body: str) -> Path:
        path = tmp_path / "unshare"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return path

    return put


def test_root_needs_no_user_namespace(unshare: Unshare) -> None:
    path = unshare("exit 0")
    assert namespace_command() == (str(path), "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc")


def test_anybody_else_takes_a_user_namespace_where_that_is_allowed(unshare: Unshare) -> None:
    unshare('[ "$1" = --user ]')
    assert namespace_command()[1:3] == ("--user", "--map-current-user")


def test_where_neither_is_allowed_there_is_none(unshare: Unshare) -> None:
    unshare("exit 1")
    assert namespace_command() == ()


def test_a_program_that_cannot_be_run_is_none(unshare: Unshare) -> None:
    unshare("").write_bytes(b"\x7fELF and nothing else")
    assert namespace_command() == ()


def test_without_the_program_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert namespace_command() == ()
