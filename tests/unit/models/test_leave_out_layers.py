"""Layers are left out byte by byte; the rest stays as it is."""

import json
from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.models.leave_out_layers import leave_out_layers, read_header
from tests.support.fake_vllm.engine import make_fake_model


def tensors(directory: Path) -> dict[str, bytes]:
    with (directory / "model.safetensors").open("rb") as file:
        header, start = read_header(file)
        found = {}
        for name, tensor in header.items():
            first, last = tensor["data_offsets"]
            file.seek(start + first)
            found[name] = file.read(last - first)
        return found


def cut(tmp_path: Path, *, layers: set[int]) -> Path:
    (tmp_path / "small").mkdir()
    leave_out_layers(make_fake_model(tmp_path / "whole", layers=5), output=tmp_path / "small", layers=layers)
    return tmp_path / "small"


def test_later_layers_move_up_with_their_bytes(tmp_path: Path) -> None:
    small, whole = tensors(cut(tmp_path, layers={1, 2})), tensors(tmp_path / "whole")
    assert small == {
        "model.embed_tokens.weight": whole["model.embed_tokens.weight"],
        "model.layers.0.mlp.weight": whole["model.layers.0.mlp.weight"],
        "model.layers.1.mlp.weight": whole["model.layers.3.mlp.weight"],
        "model.layers.2.mlp.weight": whole["model.layers.4.mlp.weight"],
    }


def test_the_configuration_counts_what_is_left(tmp_path: Path) -> None:
    assert json.loads((cut(tmp_path, layers={0, 4}) / "config.json").read_text())["num_hidden_layers"] == 3


def test_the_tokenizer_is_copied(tmp_path: Path) -> None:
    small = cut(tmp_path, layers={0})
    assert (small / "tokenizer.json").read_bytes() == (tmp_path / "whole" / "tokenizer.json").read_bytes()


def test_the_tensors_are_aligned(tmp_path: Path) -> None:
    with (cut(tmp_path, layers={3}) / "model.safetensors").open("rb") as file:
        _, start = read_header(file)
    assert start % 8 == 0


def test_leaving_out_nothing_keeps_every_tensor(tmp_path: Path) -> None:
    assert tensors(cut(tmp_path, layers=set())) == tensors(tmp_path / "whole")


def test_a_file_that_ends_early_is_not_copied_short(tmp_path: Path) -> None:
    whole = make_fake_model(tmp_path / "whole", layers=5)
    weights = whole / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    (tmp_path / "small").mkdir()
    with pytest.raises(EnvironmentFault, match="ends inside a tensor"):
        leave_out_layers(whole, output=tmp_path / "small", layers={0})
