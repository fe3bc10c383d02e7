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
