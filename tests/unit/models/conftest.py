"""Small model directories, and an engine's Python that converts nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.models import embedded
from tests.support.fake_vllm.engine import make_fake_model

# Stands where an engine's interpreter would convert the GGUF: copies a prepared model to the output directory.
CONVERTER = """#!/bin/sh
echo "$@" >> "{calls}"
[ -e "{fails}" ] && {{ echo "RuntimeError: out of luck"; exit 1; }}
cp {model}/* "$3"
"""


class FakeConverter:
    """The interpreter, how often it ran, and a way to make it fail."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.calls, self.fails, self.python = directory / "calls", directory / "fails", directory / "python"
        model = make_fake_model(directory / "model", layers=30)
        self.python.write_text(CONVERTER.format(calls=self.calls, fails=self.fails, model=model))
        self.python.chmod(0o755)

    @property
    def runs(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeConverter:
    """A converter, with the tools that it needs in place: no package index is asked."""
    monkeypatch.setattr(embedded, "_tools", lambda root, **_: tmp_path)
    return FakeConverter(tmp_path / "engine")


@pytest.fixture
def report() -> Callable[[str], None]:
    return lambda _: None
