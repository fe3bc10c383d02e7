"""Sizes: of what is here, and of the public models that our matrices name."""

import json
from pathlib import Path

import pytest

from pipeline.domain.model import Model
from pipeline.models.shapes import parameters_of, read_shape, shape_from_config, shape_of, shipped
from tests.support.fake_vllm.engine import make_fake_model

COUNTED = {name: shape for name, (_, shape) in shipped().items() if parameters_of(shape) is not None}


@pytest.mark.parametrize("name", COUNTED)
def test_the_stated_parameters_are_those_that_the_sizes_add_up_to(name: str) -> None:
    assert COUNTED[name].parameters == parameters_of(COUNTED[name])


def test_most_of_the_shipped_sizes_can_be_counted_again() -> None:
    assert len(COUNTED) >= 8


def test_every_shipped_size_says_where_it_comes_from_and_how_large_the_weights_are() -> None:
    for hub, shape in shipped().values():
        assert "/" in hub or hub.startswith("embedded:")
        assert shape.source.startswith("sizes we ship (")
        assert shape.parameters or shape.weight_bytes


def test_a_head_counts_its_layer_its_fusion_and_its_own_vocabulary() -> None:
    _, head = shipped()["llama-3.1-8b-eagle3"]
    hidden, kv, mlp = 4096, 1024, 14336
    attention = 2 * hidden * hidden + 2 * (2 * hidden * kv) + hidden * hidden  # q and k, v see 2 x hidden
    assert head.parameters == 3 * hidden * hidden + attention + 3 * hidden * mlp + 32000 * hidden


def test_sizes_of_a_model_that_is_here_are_read_there(tmp_path: Path) -> None:
    directory = make_fake_model(tmp_path / "m", layers=4, hidden_size=8)
    shape = shape_of(Model(name="m", source="Qwen/Qwen3-8B"), directory=directory)
    assert shape is not None
    assert (shape.layers, shape.parameters) == (4, 16 * 8 + 4 * 8 * 8)
    assert shape.weight_bytes == (directory / "model.safetensors").stat().st_size
    (directory / "model.safetensors").unlink()
    assert read_shape(directory).parameters is None  # a config that does not say enough


@pytest.mark.parametrize(
    ("source", "layers"),
    [("Qwen/Qwen3-8B", 36), ("shape:qwen3-8b", 36), ("embedded:smollm2-135m-instruct", 30), ("org/other", None)],
)
def test_sizes_of_a_model_that_is_not_here_are_those_we_ship(source: str, layers: int | None) -> None:
    shape = shape_of(Model(name="m", source=source), directory=None)
    assert (shape.layers if shape else None) == layers


def test_a_hybrid_models_config_says_which_layers_keep_keys_and_values() -> None:
    text = {
        "model_type": "qwen3_5_text",
        "num_hidden_layers": 4,
        "hidden_size": 8,
        "num_attention_heads": 2,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    }
    shape = shape_from_config({"text_config": text, "torch_dtype": "float16"}, source="here")
    assert (shape.layers, shape.kv_layers, shape.kv_heads, shape.head_dim) == (4, 1, 2, 4)
    assert shape.dtype == "float16"
    assert parameters_of(shape) is None


def test_a_config_of_the_shipped_sizes_gives_the_shipped_parameters() -> None:
    _, shape = shipped()["qwen3-0.6b"]
    config = {
        "model_type": "qwen3",
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden_size,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.intermediate_size,
        "vocab_size": shape.vocab_size,
        "tie_word_embeddings": True,
    }
    assert parameters_of(shape_from_config(json.loads(json.dumps(config)), source="here")) == 596_049_920


def test_what_a_config_leaves_out_is_taken_from_the_shipped_sizes(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 1}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "pytorch_model.bin").write_bytes(b"x" * 100)
    head = shape_of(Model(name="h", source="yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"), directory=tmp_path)
    assert head is not None
    assert (head.weight_bytes, head.layers, head.kv_heads) == (100, 1, 8)
    hybrid = shape_of(Model(name="q", source="Qwen/Qwen3.5-9B"), directory=tmp_path)
    assert hybrid is not None
    assert hybrid.state_bytes == 51_511_296
