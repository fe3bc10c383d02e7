"""`specwatch engines`: what is installed, what can be, and what a release can do. Nothing is installed here."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import engines, main
from pipeline.domain.engine import Engine
from pipeline.engines.install import InstalledEngine
from pipeline.errors import EnvironmentFault

FOUND = InstalledEngine(Engine(version="0.32.0", platform="cpu"), Path("/e/bin/python"), {"torch": "2.11.0+cpu"})


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*, wanted: str) -> None:
        raise EnvironmentFault(wanted)

    monkeypatch.setattr(engines, "find_hardware", none)


def test_what_is_installed_is_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(engines, "list_installed", lambda root: [FOUND] if root.name == "engines" else [])
    assert main(["engines", "list"]) == 0
    shown = capsys.readouterr().out
    assert ("0.32.0" in shown, "2.11.0+cpu" in shown, "/e/bin/python" in shown) == (True, True, True)
    assert main(["engines", "list", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document == {"engine": "0.32.0-cpu", "python": "/e/bin/python", "packages": {"torch": "2.11.0+cpu"}}


@pytest.mark.parametrize("action", ["install", "show"])
def test_a_version_is_asked_for(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", action]) == 2
    assert f"specwatch engines {action} 0.32.0" in capsys.readouterr().err


def test_show_says_what_a_release_refuses_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "show", "0.32.0"]) == 0
    shown = capsys.readouterr().out
    assert "0.32.0-cpu" in shown
    assert "ngram_gpu needs a GPU" in " ".join(shown.split())
    assert main(["engines", "show", "0.32.0", "--json", "--platform", "cuda"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["engine"] == "0.32.0-cuda"
    assert document["unsupported"]["ngram_gpu"] is None


def test_install_takes_the_platform_that_is_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Engine] = []

    def install(engine: Engine, **_: Any) -> InstalledEngine:
        asked.append(engine)
        return FOUND

    monkeypatch.setattr(engines, "install", install)
    assert main(["engines", "install", "0.32.0"]) == 0
    assert capsys.readouterr().out == "0.32.0-cpu at /e/bin/python\n"
    monkeypatch.setattr(engines, "find_hardware", lambda *, wanted: f"a GPU for {wanted}")
    assert main(["engines", "install", "0.32.0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["python"] == "/e/bin/python"
    assert [engine.platform for engine in asked] == ["cpu", "cuda"]
