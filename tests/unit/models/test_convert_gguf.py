"""The conversion that an engine's interpreter runs, with modules that stand for torch and transformers."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.models.convert_gguf import convert


class Loaded:
    """What `from_pretrained` gives: it saves two files, one of them with left-overs of the quantized model."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked

    def save_pretrained(self, output: Path) -> None:
        output.mkdir(exist_ok=True)
        config = {
            "model_type": "llama",
            "transformers_version": "5.0.0",
            "quantization_config": {},
            "_name_or_path": "x",
        }
        (output / "config.json").write_text(json.dumps(config))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was asked of transformers, the tokenizer first."""
    said: list[dict[str, Any]] = []

    class Auto:
        @staticmethod
        def from_pretrained(**asked: Any) -> Loaded:
            said.append(asked)
            return Loaded(asked)

    torch, transformers = ModuleType("torch"), ModuleType("transformers")
    torch.bfloat16 = "bfloat16"
    transformers.AutoTokenizer = transformers.AutoModelForCausalLM = Auto
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    return said


def test_weights_are_dequantized_to_bfloat16_from_the_file_that_was_named(
    asked: list[dict[str, Any]], tmp_path: Path
) -> None:
    convert(tmp_path / "gguf" / "model.gguf", output=tmp_path / "out")
    source = {"pretrained_model_name_or_path": str(tmp_path / "gguf"), "gguf_file": "model.gguf"}
    assert asked == [source, source | {"dtype": "bfloat16"}]


def test_transformers_5_is_asked_to_dequantize_by_name(asked: list[dict[str, Any]], tmp_path: Path) -> None:
    sys.modules["transformers"].GgufConfig = lambda **options: options
    convert(tmp_path / "model.gguf", output=tmp_path / "out")
    assert asked[1]["quantization_config"] == {"dequantize": True}


def test_nothing_is_left_that_would_make_an_engine_look_for_quantized_weights(
    asked: list[dict[str, Any]], tmp_path: Path
) -> None:
    convert(tmp_path / "model.gguf", output=tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text()) == {"model_type": "llama"}
    assert not (tmp_path / "out" / "generation_config.json").exists()
