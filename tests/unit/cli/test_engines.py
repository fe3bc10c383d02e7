"""`specwatch engines`: what is installed, what can be, and what a release can do. Nothing is installed here."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import engines, main
from pipeline.domain.engine import Engine
from pipeline.engines.install import InstalledEngine
from pipeline.errors import EnvironmentFault
from pipeline.settings import load_settings
from tests.support.fake_vllm.engine import install_fake_engine

FOUND = InstalledEngine(Engine(version="0.32.0", platform="cpu"), Path("/e/bin/python"), {"torch": "2.11.0+cpu"})


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def none(*, wanted: str) -> None:
        raise EnvironmentFault(wanted)

    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path))
    monkeypatch.setattr(engines, "find_hardware", none)


def test_what_is_installed_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    install_fake_engine(load_settings().engines, version="0.32.0")
    assert main(["engines", "list"]) == 0
    shown = capsys.readouterr().out
    assert ("0.32.0" in shown, "2.13.0+cpu" in shown, "MiB" in shown) == (True, True, True)
    assert main(["engines", "list", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["engine"], document["packages"]["torch"]) == ("0.32.0-cpu", "2.13.0+cpu")
    assert (document["size_bytes"] > 0, document["cache_bytes"]) == (True, 0)


@pytest.mark.parametrize("action", ["install", "show", "resolve"])
def test_a_version_is_asked_for(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", action]) == 2
    assert f"specwatch engines {action} 0.32.0" in capsys.readouterr().err


def test_show_says_what_a_release_can_do_and_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "show", "0.32.0"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "0.32.0-cpu: not installed here" in shown
    assert "needs torch 2.13.0, Python >=3.11,<3.15" in shown
    assert "ngram_gpu needs a GPU" in shown
    assert main(["engines", "show", "0.25.1", "--json", "--platform", "cuda"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["engine"], document["installed"]) == ("0.25.1-cuda", None)
    assert document["methods"]["ngram_gpu"]["state"] == "supported"
    assert document["needs"]["driver"] == ">=580"
    assert document["keys"]["synthetic_acceptance_rate"]["to"] == "synthetic_acceptance_length"


def test_show_says_where_a_release_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    install_fake_engine(load_settings().engines, version="0.32.0")
    assert main(["engines", "show", "0.32.0"]) == 0
    assert "installed at" in capsys.readouterr().out


def test_a_range_is_resolved(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(engines, "resolve_versions", lambda spec, *, platform: (f"1 of {spec}", platform))
    assert main(["engines", "resolve", "last 2"]) == 0
    assert capsys.readouterr().out == "1 of last 2\ncpu\n"
    assert main(["engines", "resolve", "last 2", "--json", "--platform", "cuda"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "spec": "last 2",
        "platform": "cuda",
        "versions": ["1 of last 2", "cuda"],
    }


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


def test_prune_keeps_what_matrices_name_and_says_what_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = load_settings().engines
    for version in ("0.27.0", "0.21.0", "0.22.0"):
        install_fake_engine(root, version=version)
    monkeypatch.setattr(engines, "pinned_versions", lambda *, report: {"0.27.0"})
    what = ["engines", "prune", "--days", "0", "--keep", "0.22.0"]
    assert main([*what, "--dry-run", "--json"]) == 0
    document = {entry["engine"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert {name: entry["would_remove"] for name, entry in document.items()} == {
        "0.21.0-cpu": True,
        "0.22.0-cpu": False,
        "0.27.0-cpu": False,
    }
    assert not any(entry["removed"] for entry in document.values())
    assert main(what) == 0
    assert "a matrix names it" in capsys.readouterr().out
    assert sorted(path.name for path in root.glob("*-cpu")) == ["0.22.0-cpu", "0.27.0-cpu"]


def test_a_range_is_installed_as_one_json_list_and_a_method_brings_its_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted: list[tuple[str, ...]] = []

    def add(engine: InstalledEngine, packages: tuple[str, ...], **_: Any) -> InstalledEngine:
        wanted.append(packages)
        return engine

    monkeypatch.setattr(engines, "install", lambda *_, **__: FOUND)
    monkeypatch.setattr(engines, "add", add)
    monkeypatch.setattr(engines, "resolve_versions", lambda *_, **__: ("0.31.0", "0.32.0"))
    assert main(["engines", "install", "last 2", "--json", "--methods", "suffix"]) == 0
    assert [entry["engine"] for entry in json.loads(capsys.readouterr().out)] == ["0.32.0-cpu", "0.32.0-cpu"]
    assert wanted == [("arctic-inference==0.1.1",)] * 2
    assert main(["engines", "install", "0.32.0", "--methods", "telepathy"]) == 2
    assert "no method 'telepathy'" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["list", "prune"])
def test_where_nothing_is_installed_it_says_so(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", action]) == 0
    assert "no engine is installed in" in capsys.readouterr().out


@pytest.mark.parametrize(("version", "words"), [("0.40.0", "newer than 0.33.0"), ("0.6.0", "older than 0.8.5")])
def test_show_says_when_nobody_read_the_release(version: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "show", version]) == 0
    assert words in capsys.readouterr().out
