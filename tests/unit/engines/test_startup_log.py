"""Facts read from captured logs; the expected values were read from those logs by eye."""

from pathlib import Path

import pytest

from pipeline.domain.engine import EngineFacts
from pipeline.engines.startup_log import WARNING_KINDS, read, with_draft_memory

FIXTURES = Path(__file__).resolve().parents[2] / "support" / "fixtures" / "vllm"
GIB = 1 << 30


def facts(name: str) -> EngineFacts:
    return read((FIXTURES / f"{name}.log").read_text(encoding="utf-8"))


def test_cpu_baseline() -> None:
    found = facts("cpu-0.32.0-baseline")
    assert found.vllm_version == "0.32.0"
    assert found.model_runner == "V1"  # "Model Runner V2 requires Triton; using the V1 model runner instead."
    assert found.async_scheduling is None  # 0.32 says nothing when it stays on
    assert found.attention_backend is None
    assert found.cudagraph_mode == "NONE"
    assert found.enforce_eager is False
    assert found.kv_cache_tokens == 46_592
    assert found.kv_cache_bytes == GIB
    assert found.max_concurrency == 22.75
    assert found.model_memory_bytes is None  # CPU logs time the weights, and do not weigh them
    assert found.load_s == 0.55
    assert found.compile_s is None


def test_cpu_ngram_says_that_async_scheduling_goes_off() -> None:
    found = facts("cpu-0.32.0-ngram")
    assert found.async_scheduling is False
    assert found.enforce_eager is True
    assert found.kv_cache_tokens == 46_592
    assert found.load_s == 0.29


def test_cpu_draft_model_loads_two_models_and_has_less_room() -> None:
    found = facts("cpu-0.32.0-draft_model")
    assert found.load_s == 0.5  # 0.25 s for the target, 0.25 s for the draft
    assert found.kv_cache_tokens == 26_880
    assert found.max_concurrency == 13.12
    assert found.async_scheduling is None
    assert found.enforce_eager is True


def test_h200_baseline() -> None:
    found = facts("h200-0.25.1-baseline")
    assert found.vllm_version == "0.25.1"
    assert found.model_runner == "V2"
    assert found.async_scheduling is True
    assert found.attention_backend == "FLASH_ATTN"
    assert found.cudagraph_mode == "FULL_AND_PIECEWISE"
    assert found.enforce_eager is False
    assert found.kv_cache_tokens == 237_552
    assert found.kv_cache_bytes == 58 * GIB
    assert found.max_concurrency == 58.0
    assert found.model_memory_bytes == round(59.07 * GIB)
    assert found.load_s == 2.192199
    assert found.compile_s == 29.25


def test_h200_draft_model_lost_the_runner_and_async_scheduling() -> None:
    found = facts("h200-0.25.1-draft_model")
    assert found.model_runner == "V1"
    assert found.async_scheduling is False
    assert found.kv_cache_tokens == 200_864
    assert found.kv_cache_bytes == round(55.17 * GIB)
    assert found.max_concurrency == 49.04
    assert found.model_memory_bytes == round(61.25 * GIB)
    assert found.compile_s == 43.13
    assert any("Async scheduling not supported" in warning for warning in found.warnings)


def test_warnings_appear_once_and_only_from_the_start() -> None:
    found = facts("h200-0.25.1-draft_model")
    assert len(set(found.warnings)) == len(found.warnings)
    assert not any("JIT compilation during inference" in warning for warning in found.warnings)


@pytest.mark.parametrize("text", ["", "Killed\n", "usage: api_server.py [-h]\n"])
def test_a_log_that_says_nothing_gives_nothing(text: str) -> None:
    assert read(text) == EngineFacts()


def test_a_backend_that_lowers_the_graph_mode_has_the_last_word() -> None:
    text = (
        "{'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>}\n"
        "WARNING CUDAGraphMode.FULL_AND_PIECEWISE is not supported with FlashInfer; setting cudagraph_mode=PIECEWISE\n"
    )
    assert read(text).cudagraph_mode == "PIECEWISE"


def test_two_runners_in_one_log_are_no_single_answer() -> None:
    assert read("Using V2 Model Runner\n ...; using the V1 model runner instead.\n").model_runner is None


@pytest.mark.parametrize(
    ("line", "backend"),
    [
        ("Using Flash Attention backend on V1 engine.", "FLASH_ATTN"),
        ("Using FLASHINFER attention backend out of potential backends: ['FLASHINFER'].", "FLASHINFER"),
        ("Using AttentionBackendEnum.TRITON_ATTN backend.", "TRITON_ATTN"),
        ("INFO 11-30 22:32:10 [selector.py:202] Using HND KV cache layout for CPU_ATTN backend.", "CPU_ATTN"),
    ],
)
def test_attention_backends_of_several_releases(line: str, backend: str) -> None:
    assert read(line).attention_backend == backend


def test_graphs_and_initialisation_of_an_h200() -> None:
    found = facts("h200-0.25.1-draft_model")
    assert found.graph_capture_s == 11.0
    assert found.graph_memory_bytes == round(1.2 * GIB)
    assert found.init_s == 70.09
    assert found.compile_s == 43.13


def test_a_cpu_captures_no_graphs() -> None:
    found = facts("cpu-0.32.0-ngram")
    assert (found.graph_capture_s, found.graph_memory_bytes) == (None, None)
    assert found.init_s == 3.56


def test_kernels_compiled_while_requests_ran_are_counted_where_the_release_watches() -> None:
    assert facts("h200-0.25.1-draft_model").jit_compilations == 5
    assert facts("cpu-0.32.0-ngram").jit_compilations is None


def test_a_kernel_that_is_named_twice_counts_once() -> None:
    line = "WARNING 11-30 15:37:59 [jit_monitor.py:129] Triton kernel JIT compilation during inference: k. Slow.\n"
    log = f"Kernel JIT monitor activated; ...\nApplication startup complete\n{line}{line}"
    assert read(log).jit_compilations == 1
    assert read(log).warning_kinds == ("jit_during_inference",)


def test_warnings_that_change_figures_are_classified() -> None:
    assert facts("h200-0.25.1-draft_model").warning_kinds == (
        "jit_during_inference",
        "runner_fallback",
        "async_off",
    )
    assert facts("h200-0.25.1-baseline").warning_kinds == ()
    assert facts("cpu-0.32.0-ngram").warning_kinds == ("runner_fallback", "async_off")  # eager was asked for


@pytest.mark.parametrize(
    ("warning", "kind"),
    [
        (
            (
                "CUDAGraphMode.FULL_AND_PIECEWISE is not supported with spec-decode for attention backend FlashInfer "
                "(support: AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE"
            ),
            "graph_downgrade",
        ),
        ("Triton is installed but 0 active driver(s) found (expected 1). Disabling Triton.", "feature_off"),
        ("Prefix caching is disabled because this model does not support it.", "feature_off"),
        ("FlashInfer is not available. Falling back to the PyTorch-native implementation.", "feature_off"),
        ("Async scheduling will be disabled because it is not supported with the `ray` backend.", "async_off"),
        ("Model Runner V2 requires Triton; using the V1 model runner instead.", "runner_fallback"),
    ],
)
def test_each_class_has_lines_of_its_own(warning: str, kind: str) -> None:
    assert read(f"WARNING 11-30 15:11:18 [vllm.py:1605] {warning}\n").warning_kinds == (kind,)
    assert kind in WARNING_KINDS


def test_graphs_of_target_and_draft_are_added() -> None:
    line = "INFO 11-30 15:37:56 [gpu_model_runner.py:6707] Graph capturing finished in {} secs, took {} GiB\n"
    found = read(line.format(11, "1.20") + line.format(2, "0.30"))
    assert (found.graph_capture_s, found.graph_memory_bytes) == (13.0, round(1.5 * GIB))


def test_a_draft_takes_what_its_arm_holds_beyond_the_baseline() -> None:
    baseline, arm = facts("h200-0.25.1-baseline"), facts("h200-0.25.1-draft_model")
    assert with_draft_memory(arm, baseline=baseline).draft_memory_bytes == (round(61.25 * GIB) - round(59.07 * GIB))
    assert with_draft_memory(arm, baseline=None).draft_memory_bytes is None
    assert with_draft_memory(baseline, baseline=arm).draft_memory_bytes is None
    assert with_draft_memory(facts("cpu-0.32.0-ngram"), baseline=baseline).draft_memory_bytes is None
