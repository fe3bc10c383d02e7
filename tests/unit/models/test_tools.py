"""The tools that convert the embedded model are fetched once for each set of pins, with a `uv` that a test wrote."""

from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.models import embedded

# Stands where uv would install: makes what the package holds, unless it is told to fail.
STUB = """#!/bin/sh
echo "$@" >> "{calls}"
[ -e "{fails}" ] && {{ echo "error: no route to the index" >&2; exit 2; }}
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/{folder}" && : > "$2/{gguf}"
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the stub writes what it was asked; `fails` beside it makes it fail."""
    calls, stub = tmp_path / "calls", tmp_path / "uv"
    gguf = embedded._GGUF
    stub.write_text(STUB.format(calls=calls, fails=tmp_path / "fails", folder=Path(gguf).parent, gguf=gguf))
    stub.chmod(0o755)
    monkeypatch.setattr(embedded, "_uv", lambda: str(stub))
    return calls


def tools(tmp_path: Path, report: list[str]) -> Path:
    (tmp_path / "models").mkdir(exist_ok=True)
    return embedded._tools(tmp_path / "models", engine_python=Path("/e/bin/python"), report=report.append)


def test_they_are_fetched_once_by_hash_for_the_engines_python(calls: Path, tmp_path: Path) -> None:
    said: list[str] = []
    first = tools(tmp_path, said)
    assert tools(tmp_path, said) == first
    (asked,) = calls.read_text().splitlines()
    assert "--require-hashes" in asked
    assert "--python /e/bin/python" in asked
    assert len(said) == 1


def test_a_fetch_that_fails_leaves_nothing_and_is_tried_again(calls: Path, tmp_path: Path) -> None:
    (tmp_path / "fails").touch()
    with pytest.raises(EnvironmentFault, match=r"could not be installed: .*no route to the index.*Check the network"):
        tools(tmp_path, [])
    assert list((tmp_path / "models").iterdir()) == []
    (tmp_path / "fails").unlink()
    assert tools(tmp_path, []).is_dir()


def test_uv_itself_is_found_where_it_is_installed() -> None:
    assert Path(embedded._uv()).name.startswith("uv")
