"""From what a matrix says of releases to one engine a release; what was resolved once stays."""

from typing import Any

import pytest

from pipeline.matrix.schema import EngineEntry, MatrixFile
from pipeline.steps import resolving

RELEASES = {"latest": ("0.33.0",), "last 2": ("0.32.0", "0.33.0"), "0.32.0": ("0.32.0",)}


@pytest.fixture(autouse=True)
def index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "resolve_versions", lambda spec, *, platform: RELEASES[spec])
    monkeypatch.setattr(resolving, "ask_version", lambda servers: f"0.30.{len(servers)}")


def matrix(*engines: dict[str, Any]) -> MatrixFile:
    methods = [{"method": "ngram", "num_speculative_tokens": 4, "name": "ngram-k4"}]
    return MatrixFile.model_validate(
        {
            "version": 1,
            "name": "m",
            "engines": list(engines),
            "targets": [{"name": "t", "source": "/t"}],
            "methods": methods,
            "workloads": ["structured"],
            "prompts": 1,
            "output_tokens": 8,
            "concurrency": [1],
        }
    )


def versions(found: MatrixFile) -> list[str | None]:
    return [entry.version for entry in found.engines]


def test_each_release_is_one_engine_and_what_was_asked_is_kept() -> None:
    found, resolved = resolving.resolve_engines(
        matrix({"version": "last 2", "platform": "cpu"}, {"version": "0.32.0", "platform": "cuda"}), known={}
    )
    assert [(e.version, e.platform) for e in found.engines] == [
        ("0.32.0", "cpu"),
        ("0.33.0", "cpu"),
        ("0.32.0", "cuda"),
    ]
    assert resolved == {"last 2 (cpu)": ("0.32.0", "0.33.0")}


def test_a_release_that_is_named_twice_is_measured_once() -> None:
    named = ({"version": "0.32.0", "platform": "cpu"}, {"version": "last 2", "platform": "cpu"})
    assert versions(resolving.resolve_engines(matrix(*named), known={})[0]) == ["0.32.0", "0.33.0"]


def test_what_an_earlier_plan_resolved_is_used_again() -> None:
    known = {"latest (cpu)": ("0.31.0",)}
    found, resolved = resolving.resolve_engines(matrix({"version": "latest", "platform": "cpu"}), known=known)
    assert (versions(found), resolved) == (["0.31.0"], known)


def test_servers_that_run_already_are_asked() -> None:
    servers = {"none": "http://127.0.0.1:1", "ngram-k4": "http://127.0.0.1:2"}
    found, resolved = resolving.resolve_engines(matrix({"platform": "cpu", "external": servers}), known={})
    assert versions(found) == ["0.30.2"]
    assert resolved == {"external (cpu)": ("0.30.2",)}


def test_the_entry_is_stored_as_it_is_written() -> None:
    assert resolving.spec_of(EngineEntry(version=">=0.27,<0.33", platform="cuda")) == ">=0.27,<0.33 (cuda)"
