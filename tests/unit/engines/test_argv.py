"""The command line: complete, the same for the same input, free of secrets, and taken by the fake vLLM."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.cell import ServerSettings
from pipeline.domain.engine import Engine
from pipeline.domain.method import Method
from pipeline.domain.model import Model, ResolvedModel, Weights
from pipeline.engines.argv import COMPILE_CACHES, REDACTED, build, environment, redact
from pipeline.errors import UserError
from tests.support.fake_vllm.engine import make_fake_engine

CPU, CUDA = Engine("0.32.0", "cpu"), Engine("0.32.0", "cuda")
NONE = Method(name="none", method="none")


def resolved(path: str, *, weights: Weights = "real") -> ResolvedModel:
    model = Model(name=Path(path).name, source=path, weights=weights)
    return ResolvedModel(
        model=model,
        path=path,
        revision="sha256:0",
        layers=1,
        hidden_size=1,
        parameters=1,
        vocab_size=1,
        tokenizer_hash="t",
    )


def argv(
    engine: Engine = CPU,
    *,
    method: Method = NONE,
    target: ResolvedModel | None = None,
    draft: ResolvedModel | None = None,
    server: ServerSettings | None = None,
    python: str = "/e/bin/python",
) -> tuple[str, ...]:
    return build(
        Path(python),
        engine=engine,
        target=target or resolved("/m/target"),
        method=method,
        draft=draft,
        server=server or ServerSettings(),
        port=28000,
        served_model="m",
    )


def value(arguments: tuple[str, ...], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def test_every_setting_is_said() -> None:
    arguments = argv(server=ServerSettings(max_model_len=512, max_num_seqs=7, dtype="bfloat16", seed=3))
    assert arguments[:3] == ("/e/bin/python", "-m", "vllm.entrypoints.openai.api_server")
    said = {flag: value(arguments, flag) for flag in arguments if flag.startswith("--") and "caching" not in flag}
    assert said == {
        "--host": "127.0.0.1",
        "--port": "28000",
        "--model": "/m/target",
        "--served-model-name": "m",
        "--max-model-len": "512",
        "--max-num-seqs": "7",
        "--dtype": "bfloat16",
        "--seed": "3",
        "--generation-config": "vllm",
    }
    assert "--no-enable-prefix-caching" in arguments


def test_only_cuda_has_a_share_of_gpu_memory() -> None:
    assert value(argv(CUDA), "--gpu-memory-utilization") == "0.9"
    assert "--gpu-memory-utilization" not in argv(CPU)


def test_switches_follow_the_settings() -> None:
    arguments = argv(server=ServerSettings(enforce_eager=True, prefix_caching=True))
    assert "--enforce-eager" in arguments
    assert "--enable-prefix-caching" in arguments
    assert "--enforce-eager" not in argv()


def test_speculation_is_json_with_sorted_keys() -> None:
    options = {"prompt_lookup_min": 2, "prompt_lookup_max": 5}
    ngram = Method(name="n", method="ngram", num_speculative_tokens=4, options=options)
    assert value(argv(method=ngram), "--speculative-config") == (
        '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":5,"prompt_lookup_min":2}'
    )


def test_a_draft_is_given_by_its_path() -> None:
    draft = resolved("/m/draft")
    method = Method(name="d", method="draft_model", num_speculative_tokens=3, draft=draft.model)
    said = json.loads(value(argv(method=method, draft=draft), "--speculative-config"))
    assert said == {"method": "draft_model", "model": "/m/draft", "num_speculative_tokens": 3}


def test_options_have_the_names_that_a_release_gives_them() -> None:
    def said(version: str, **options: object) -> dict[str, object]:
        method = Method(name="n", method="ngram", num_speculative_tokens=4, options=options)
        found: dict[str, object] = json.loads(
            value(argv(Engine(version, "cuda"), method=method), "--speculative-config")
        )
        return {key: found[key] for key in found.keys() - {"method", "num_speculative_tokens"}}

    synthetic = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 3.0}
    assert said("0.32.0", **synthetic) == synthetic
    assert said("0.19.1", **synthetic) == {
        "rejection_sample_method": "synthetic",
        "synthetic_acceptance_rate": 0.5,  # (3 - 1) / 4
    }
    assert said("0.20.0", rejection_sample_method="standard") == {"rejection_sample_method": "strict"}
    assert said("0.21.0", draft_sample_method="probabilistic") == {"draft_sample_method": "gumbel"}


def test_an_option_that_cannot_be_converted_is_the_matrix_s_mistake() -> None:
    options = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": "long"}
    method = Method(name="n", method="ngram", num_speculative_tokens=4, options=options)
    with pytest.raises(UserError, match="synthetic_acceptance_length is 'long'"):
        argv(Engine("0.19.0", "cuda"), method=method)


def test_a_custom_method_goes_to_vllm_as_it_is() -> None:
    options = {"synthetic_acceptance_length": 3.0, "range": "any"}
    method = Method(name="c", method="custom:telepathy", num_speculative_tokens=4, options=options)
    said = json.loads(value(argv(Engine("0.19.0", "cuda"), method=method), "--speculative-config"))
    assert said == {"method": "telepathy", "num_speculative_tokens": 4} | options


def test_the_attention_backend_is_a_flag_and_before_that_a_variable() -> None:
    pinned = ServerSettings(attention_backend="FLASH_ATTN")
    old, new = Engine("0.12.0", "cuda"), Engine("0.13.0", "cuda")
    assert value(argv(new, server=pinned), "--attention-backend") == "FLASH_ATTN"
    assert "VLLM_ATTENTION_BACKEND" not in environment(new, server=pinned)
    assert "--attention-backend" not in argv(old, server=pinned)
    assert environment(old, server=pinned)["VLLM_ATTENTION_BACKEND"] == "FLASH_ATTN"
    assert "--attention-backend" not in argv(new)


def test_the_kv_cache_can_be_made_alike_in_every_arm() -> None:
    assert value(argv(CUDA, server=ServerSettings(kv_cache_memory_bytes=1000)), "--kv-cache-memory-bytes") == "1000"
    assert "--kv-cache-memory-bytes" not in argv(CUDA)


def test_whether_a_target_thinks_is_told_to_its_chat_template() -> None:
    told = argv(CUDA, server=ServerSettings(thinking=False))
    assert value(told, "--default-chat-template-kwargs") == '{"enable_thinking":false}'
    assert "--default-chat-template-kwargs" not in argv(CUDA)


def test_every_compile_cache_belongs_to_one_engine(tmp_path: Path) -> None:
    def caches(engine: Engine) -> set[str]:
        told = environment(engine, server=ServerSettings(), cache_root=tmp_path)
        return {told[name] for name in (*COMPILE_CACHES, "VLLM_CACHE_ROOT")}

    assert len(caches(CPU)) == 5
    assert not caches(CPU) & caches(Engine("0.31.0", "cpu"))
    assert all(str(tmp_path / "0.32.0-cpu") in path for path in caches(CPU))  # so that prune takes them along


def test_dummy_weights_are_made_up_by_the_loader() -> None:
    assert value(argv(target=resolved("/m/t", weights="dummy")), "--load-format") == "dummy"
    assert "--load-format" not in argv()


def test_real_and_dummy_weights_do_not_mix() -> None:
    draft = resolved("/m/draft", weights="dummy")
    method = Method(name="d", method="draft_model", num_speculative_tokens=3, draft=draft.model)
    with pytest.raises(UserError, match="draft has dummy"):
        argv(method=method, draft=draft)


def test_the_environment_of_a_cpu_engine(tmp_path: Path) -> None:
    told = environment(CPU, server=ServerSettings(kv_cache_gib=2), cache_root=tmp_path)
    assert told["VLLM_CPU_KVCACHE_SPACE"] == "2"
    assert told["SPT_NOENV"] == "1"
    assert told["HF_HUB_OFFLINE"] == "1"
    assert told["VLLM_CACHE_ROOT"] == str(tmp_path / "0.32.0-cpu")


def test_a_gpu_has_no_cpu_cache() -> None:
    assert "VLLM_CPU_KVCACHE_SPACE" not in environment(CUDA, server=ServerSettings())


def test_secret_looking_values_are_redacted() -> None:
    shown = redact({"HF_TOKEN": "a", "OPENAI_API_KEY": "b", "My_Password": "c", "AWS_SECRET_X": "d", "PATH": "/bin"})
    assert shown == {
        "HF_TOKEN": REDACTED,
        "OPENAI_API_KEY": REDACTED,
        "My_Password": REDACTED,
        "AWS_SECRET_X": REDACTED,
        "PATH": "/bin",
    }


@pytest.mark.parametrize("engine", [CPU, CUDA], ids=lambda engine: engine.platform)
def test_the_fake_vllm_takes_the_whole_command_line(engine: Engine, tmp_path: Path) -> None:
    python = make_fake_engine(tmp_path)
    method = Method(name="n", method="ngram", num_speculative_tokens=4, options={"prompt_lookup_max": 5})
    server = replace(ServerSettings(), enforce_eager=True)
    answer = subprocess.run(
        argv(engine, method=method, server=server, python=str(python)), capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1  # it gets as far as looking for the model
    assert "/m/target is not a local folder" in answer.stderr
