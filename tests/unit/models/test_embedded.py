"""Embedded models are made once, whole or not at all."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.domain.model import Model, ResolvedModel
from pipeline.errors import EnvironmentFault, UserError
from pipeline.models.embedded import CATALOGUE, REQUIREMENTS, TARGET, prepare
from pipeline.models.resolve import resolve
from tests.unit.models.conftest import FakeConverter

Report = Callable[[str], None]
DRAFT = f"{TARGET}-22-layers"


def made(name: str, root: Path, converter: FakeConverter, report: Report) -> ResolvedModel:
    model = Model(name=name, source=f"embedded:{name}")
    return resolve(model, root=root, engine_python=converter.python, report=report)


def test_the_draft_is_the_target_without_eight_layers(tmp_path: Path, converter: FakeConverter, report: Report) -> None:
    draft = made(DRAFT, tmp_path / "models", converter, report)
    target = made(TARGET, tmp_path / "models", converter, report)
    assert (target.layers, draft.layers) == (30, 22)
    assert target.tokenizer_hash == draft.tokenizer_hash
    assert (target.parameters or 0) - (draft.parameters or 0) == 8 * 8 * 8
    assert converter.runs == 1  # the draft is cut out of the target


def test_the_second_call_reuses_the_first(tmp_path: Path, converter: FakeConverter, report: Report) -> None:
    first = made(TARGET, tmp_path / "models", converter, report)
    assert made(TARGET, tmp_path / "models", converter, report) == first
    assert converter.runs == 1


def test_the_same_model_made_twice_is_the_same(tmp_path: Path, converter: FakeConverter, report: Report) -> None:
    first = made(DRAFT, tmp_path / "one", converter, report)
    second = made(DRAFT, tmp_path / "two", converter, report)
    assert first.model_id == second.model_id


def test_a_failed_conversion_leaves_nothing_and_says_why(
    tmp_path: Path, converter: FakeConverter, report: Report
) -> None:
    converter.fails.touch()
    with pytest.raises(EnvironmentFault, match="out of luck"):
        made(TARGET, tmp_path / "models", converter, report)
    assert [path for path in (tmp_path / "models").iterdir() if path.is_dir()] == []
    converter.fails.unlink()
    assert made(TARGET, tmp_path / "models", converter, report).layers == 30


@pytest.mark.parametrize("marker", [None, "{", json.dumps({"name": TARGET})], ids=["missing", "broken", "old recipe"])
def test_a_model_without_our_marker_is_made_again(
    tmp_path: Path, converter: FakeConverter, report: Report, marker: str | None
) -> None:
    made(TARGET, tmp_path / "models", converter, report)
    path = tmp_path / "models" / TARGET / ".prepared.json"
    path.unlink() if marker is None else path.write_text(marker)
    made(TARGET, tmp_path / "models", converter, report)
    assert converter.runs == 2


def test_two_at_once_make_it_once(tmp_path: Path, converter: FakeConverter, report: Report) -> None:
    threads = [threading.Thread(target=made, args=(TARGET, tmp_path / "models", converter, report)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert converter.runs == 1


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path, report: Report) -> None:
    with pytest.raises(UserError, match=f"embedded:{DRAFT}"):
        prepare("smollm3", root=tmp_path, engine_python=Path("/none"), report=report)


def test_an_engine_that_is_gone_is_named(tmp_path: Path, converter: FakeConverter, report: Report) -> None:
    shutil.rmtree(converter.python.parent)
    with pytest.raises(EnvironmentFault, match="Install the engine again"):
        made(TARGET, tmp_path / "models", converter, report)


def test_every_package_is_pinned_by_hash_and_names_no_index() -> None:
    text = REQUIREMENTS.read_text()
    assert text.count("==") == 3
    assert text.count("--hash=sha256:") >= 3
    assert "http" not in text


def test_names_are_their_own_keys() -> None:
    assert all(name == model.name for name, model in CATALOGUE.items())
