"""Every failure class, from lines that real servers write."""

from pathlib import Path
from typing import get_args

import pytest

from pipeline.domain.server_start import FailureClass
from pipeline.engines.failures import classify

FIXTURES = Path(__file__).resolve().parents[2] / "support" / "fixtures" / "vllm"
BY_LOG: list[tuple[str, str]] = [
    ("out_of_memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB."),
    ("out_of_memory", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"),
    ("out_of_memory", "ValueError: Free memory on device (3/23 GiB) is less than desired GPU memory utilization (0.9)"),
    (
        "out_of_memory",
        (
            "ValueError: To serve at least one request with the model's max seq len (32768), 4.0 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (1.0 GiB)."
        ),
    ),
    ("architecture_unsupported", "ValueError: Model architectures ['FooForCausalLM'] are not supported for now."),
    ("architecture_unsupported", "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ("driver_too_old", "RuntimeError: The NVIDIA driver on your system is too old (found version 12040)."),
    ("no_access", "huggingface_hub.errors.GatedRepoError: 403 Client Error. Cannot access gated repo"),
    ("not_found", "OSError: nowhere/x is not a local folder and is not a valid model identifier listed on the hub"),
    ("not_found", "OSError: We couldn't connect, and couldn't find it in the cached files."),
    ("bad_flag", "api_server.py: error: unrecognized arguments: --swap-space 4"),
    ("bad_flag", "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig"),
    ("port_taken", "OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000)"),
    ("engine_died", "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"),
    ("engine_died", "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."),
    ("disk_full", "OSError: [Errno 28] No space left on device"),
]
# Excerpts of logs that people showed in public issues, shortened; numbers and paths are of no matter.
FROM_ISSUES: list[tuple[str, str]] = [
    (
        "out_of_memory",
        (
            "ERROR 06-30 13:53:19 [core.py:515] EngineCore failed to start.\n"
            "ValueError: Free memory on device cuda:0 (31.44/47.38 GiB) on startup is less than desired GPU memory "
            "utilization (0.95, 45.01 GiB). Decrease GPU memory utilization.\n"
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
        ),
    ),
    (
        "out_of_memory",
        (
            "ValueError: Available memory on node 0 (0.62/15.5 GiB) on kv cache allocation is less than requested "
            "for kv (4.0 GiB).\nRuntimeError: Engine core initialization failed. See root cause above."
        ),
    ),
    ("out_of_memory", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    (
        "no_access",
        (
            "OSError: You are trying to access a gated repo.\nMake sure to have access to it at HUB/org/model.\n"
            "401 Client Error. (Request ID: Root=1-0)"
        ),
    ),
    (
        "no_access",
        "Access to model org/model is restricted. You must have access to it and be authenticated to access.",
    ),
    (
        "driver_too_old",
        (
            "ERROR 08-12 16:53:28 [core.py:632] RuntimeError: Unexpected error from cudaGetDeviceCount(). "
            "Did you run some cuda functions before? Error 803: system has "
            "unsupported display driver / cuda driver combination"
        ),
    ),
    ("driver_too_old", "Error 804: forward compatibility was attempted on non supported HW"),
    (
        "architecture_unsupported",
        (
            "ERROR [core.py:396] EngineCore failed to start.\n"
            "RuntimeError: CUDA error: no kernel image is available for execution on the device"
        ),
    ),
    (
        "architecture_unsupported",
        "This kernel only supports sm120.\ncudaErrorLaunchFailure: unspecified launch failure",
    ),
    (
        "bad_flag",
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
            "synthetic_acceptance_rate\n  Unexpected keyword argument"
        ),
    ),
    ("not_found", "OSError: Can't load the configuration of 'org/nothing'. If you were trying to load it from the hub"),
    ("engine_died", "ImportError: Arctic Inference is required for suffix decoding. Install via `pip install ...`."),
    ("engine_died", "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"),
]
BY_STATUS: list[tuple[str, int | None]] = [
    ("killed", -9),
    ("killed", 137),
    ("killed", 143),
    ("engine_died", 139),
    ("engine_died", -6),
    ("bad_flag", 2),
    ("unknown", 1),
    ("unknown", 0),
    ("unknown", None),
]


@pytest.mark.parametrize(("failure_class", "line"), BY_LOG)
def test_a_line_of_the_log_decides_and_is_quoted(failure_class: str, line: str) -> None:
    failure = classify(1, f"INFO start\n(EngineCore pid=12) ERROR 11-30 15:12:36 [core.py:402] {line}\nTraceback\n")
    assert failure.failure_class == failure_class
    assert line[:60] in failure.message
    assert "pid=12" not in failure.message
    assert failure.next_step.endswith(".")


@pytest.mark.parametrize(("failure_class", "status"), BY_STATUS)
def test_without_such_a_line_the_exit_status_decides(failure_class: str, status: int | None) -> None:
    failure = classify(status, "the last words\n")
    assert failure.failure_class == failure_class
    assert "the last words" in failure.message


def test_the_cause_comes_before_what_it_makes_die() -> None:
    log = "torch.OutOfMemoryError: CUDA out of memory.\nRuntimeError: Engine core initialization failed.\n"
    assert classify(1, log).failure_class == "out_of_memory"


@pytest.mark.parametrize(("failure_class", "log"), FROM_ISSUES)
def test_logs_that_people_showed_are_classified(failure_class: str, log: str) -> None:
    failure = classify(1, log)
    assert failure.failure_class == failure_class
    assert failure.next_step.endswith(".")


@pytest.mark.parametrize(
    ("failure_class", "retryable"),
    [
        ("out_of_memory", False),
        ("architecture_unsupported", False),
        ("driver_too_old", False),
        ("no_access", False),
        ("not_found", False),
        ("bad_flag", False),
        ("disk_full", False),
        ("port_taken", True),
    ],
)
def test_only_what_may_pass_by_itself_is_tried_again(failure_class: str, retryable: bool) -> None:
    logs = [line for name, line in BY_LOG if name == failure_class]
    assert {classify(1, line).retryable for line in logs} == {retryable}


def test_a_missing_package_is_named_and_not_tried_again() -> None:
    failure = classify(1, "ModuleNotFoundError: No module named 'arctic_inference'\n")
    assert (failure.failure_class, failure.retryable) == ("engine_died", False)
    assert "Install what is missing" in failure.next_step


def test_a_package_that_a_method_needs_is_named_with_the_command_that_adds_it() -> None:
    said = "ImportError: Arctic Inference is required for suffix decoding. Install via `pip install x`."  # of 0.32.0
    failure = classify(1, f"Traceback (most recent call last):\n{said}\n")
    assert (failure.failure_class, failure.retryable) == ("engine_died", False)
    assert said in failure.message
    assert "--methods METHOD" in failure.next_step


def test_an_empty_log_is_said_to_be_empty() -> None:
    assert "(empty log)" in classify(1, "").message


def test_a_person_can_repeat_only_what_may_go_away() -> None:
    assert classify(1, "Address already in use").retryable
    assert not classify(1, "CUDA out of memory").retryable


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.log")), ids=lambda path: path.stem)
def test_the_log_of_a_healthy_server_that_was_killed_is_no_other_failure(path: Path) -> None:
    assert classify(137, path.read_text(encoding="utf-8")).failure_class == "killed"


def test_every_class_is_reached_here_or_in_serve() -> None:
    reached = {name for name, _ in (*BY_LOG, *BY_STATUS)} | {"startup_timeout"}  # serve gives that one
    assert reached == set(get_args(FailureClass))


def test_a_dead_engine_is_named_by_what_killed_it() -> None:
    log = (FIXTURES / "failures" / "h200-0.25.1-no-flashinfer.log").read_text()
    failure = classify(1, log)
    assert failure.failure_class == "engine_died"
    assert failure.message == "vLLM's engine process died: ModuleNotFoundError: No module named 'flashinfer'"
    assert not failure.retryable
    assert "Install what is missing" in failure.next_step
