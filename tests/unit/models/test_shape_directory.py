"""A real shape without a checkpoint: configuration, tokenizer, random weights."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.domain.model import Model, ResolvedModel
from pipeline.errors import UserError
from pipeline.models.resolve import locate, resolve
from tests.unit.models.conftest import FakeConverter

Report = Callable[[str], None]
MODEL = Model(name="big", source="shape:llama-3.1-8b-instruct", weights="dummy")


def made(tmp_path: Path, converter: FakeConverter, report: Report, *, model: Model = MODEL) -> ResolvedModel:
    return resolve(model, root=tmp_path / "models", engine_python=converter.python, report=report)


def test_a_shape_is_a_directory_with_its_sizes_and_no_weights(
    tmp_path: Path, converter: FakeConverter, report: Report
) -> None:
    found = made(tmp_path, converter, report)
    directory = Path(found.path)
    assert sorted(path.name for path in directory.iterdir()) == ["config.json", "tokenizer.json"]
    config = json.loads((directory / "config.json").read_text())
    assert (config["architectures"], config["num_hidden_layers"]) == (["LlamaForCausalLM"], 32)
    assert (found.parameters, found.vocab_size) == (8_030_261_248, 128256)
    assert locate(MODEL, root=tmp_path / "models", environ={}) == directory


def test_two_shapes_share_their_tokenizer_so_that_one_can_draft_for_the_other(
    tmp_path: Path, converter: FakeConverter, report: Report
) -> None:
    draft = made(
        tmp_path, converter, report, model=Model(name="s", source="shape:llama-3.2-1b-instruct", weights="dummy")
    )
    target = made(tmp_path, converter, report)
    assert target.tokenizer_hash == draft.tokenizer_hash
    assert target.revision != draft.revision


def test_it_is_made_once(tmp_path: Path, converter: FakeConverter) -> None:
    said: list[str] = []
    first = made(tmp_path, converter, said.append)
    assert any("random weights" in line for line in said)
    said.clear()
    assert made(tmp_path, converter, said.append) == first
    assert said == []


def test_a_shape_has_no_real_weights_and_must_exist(tmp_path: Path, converter: FakeConverter, report: Report) -> None:
    with pytest.raises(UserError, match="Write `weights: dummy`"):
        made(tmp_path, converter, report, model=Model(name="big", source=MODEL.source))
    for unknown in ("shape:nothing", "shape:qwen3.5-9b"):
        with pytest.raises(UserError, match=r"no shape .* to run\. There are: shape:llama-3\.1-8b-instruct"):
            made(tmp_path, converter, report, model=Model(name="big", source=unknown, weights="dummy"))
