"""A GPU asked question by question, against a scripted NVML."""

import pynvml
import pytest

from pipeline.telemetry.gpu import Gpu, open_gpu
from tests.unit.telemetry.scripted_nvml import Error, ScriptedNvml, running

LOST = Error(pynvml.NVML_ERROR_GPU_IS_LOST)
UNSUPPORTED = Error(pynvml.NVML_ERROR_NOT_SUPPORTED)
MISSING = Error(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)


def test_figures_are_nvml_s_integers() -> None:
    assert Gpu(ScriptedNvml(), "card").figures() == (
        {
            "power_mw": 400_000,
            "energy_mj": 1_000,
            "gpu_memory_bytes": 90 << 30,
            "sm_clock_mhz": 2400,
            "memory_clock_mhz": 13_900,
            "temperature_c": 61,
            "gpu_utilization_percent": 97,
            "clock_reasons": 4,
        },
        0,
    )


def test_a_question_that_fails_is_counted_and_takes_no_other_with_it() -> None:
    nvml = ScriptedNvml(nvmlDeviceGetPowerUsage=LOST)
    gpu = Gpu(nvml, "card")
    answers, errors = gpu.figures()
    assert ("power_mw" in answers, answers["temperature_c"], errors) == (False, 61, 1)
    nvml.answers["nvmlDeviceGetPowerUsage"] = 1
    assert gpu.figures()[0]["power_mw"] == 1


@pytest.mark.parametrize("error", [UNSUPPORTED, MISSING])
def test_what_a_card_or_its_driver_does_not_support_is_asked_once_and_is_no_error(error: Error) -> None:
    nvml = ScriptedNvml(nvmlDeviceGetTotalEnergyConsumption=error)
    gpu = Gpu(nvml, "card")
    for _ in range(3):
        answers, errors = gpu.figures()
        assert ("energy_mj" in answers, errors) == (False, 0)
    assert nvml.calls.count("nvmlDeviceGetTotalEnergyConsumption") == 1


def test_an_older_driver_says_why_clocks_are_low_under_another_name() -> None:
    nvml = ScriptedNvml(nvmlDeviceGetCurrentClocksEventReasons=MISSING, nvmlDeviceGetCurrentClocksThrottleReasons=0x20)
    assert Gpu(nvml, "card").figures()[0]["clock_reasons"] == 0x20


def test_processes_are_named_by_their_ids() -> None:
    assert Gpu(ScriptedNvml(nvmlDeviceGetComputeRunningProcesses=running(3, 4)), "card").processes() == ({3, 4}, 0)
    assert Gpu(ScriptedNvml(), "card").processes() == (set(), 0)
    assert Gpu(ScriptedNvml(nvmlDeviceGetComputeRunningProcesses=LOST), "card").processes() == (None, 1)


def test_nvml_is_left_at_the_end() -> None:
    nvml = ScriptedNvml()
    with open_gpu(nvml=nvml) as gpu:
        assert gpu is not None
        assert "nvmlShutdown" not in nvml.calls
    assert nvml.calls[-1] == "nvmlShutdown"


def test_without_a_driver_there_is_no_gpu() -> None:
    with open_gpu(nvml=ScriptedNvml(nvmlInit=Error(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND))) as gpu:
        assert gpu is None


def test_a_card_that_is_not_there_is_none_and_nvml_is_left() -> None:
    nvml = ScriptedNvml(nvmlDeviceGetHandleByIndex=LOST)
    with open_gpu(nvml=nvml) as gpu:
        assert gpu is None
    assert nvml.calls[-1] == "nvmlShutdown"
