"""What machine this is: an NVML that answers as a Blackwell card's driver does is passed in."""

import os
import platform
from dataclasses import replace
from types import SimpleNamespace

import pynvml
import pytest

from pipeline.domain.hardware import Hardware
from pipeline.errors import EnvironmentFault
from pipeline.telemetry import hardware
from pipeline.telemetry.hardware import cpu, find_hardware
from tests.unit.telemetry.scripted_nvml import Error, ScriptedNvml

BLACKWELL = Hardware(
    kind="gpu",
    name="NVIDIA RTX PRO 6000",
    architecture="blackwell",
    compute_capability="12.0",
    accelerators=1,
    memory_bytes=96 << 30,
    driver_version="580.65.06",
    cuda_version="13.1",
    host_cpu=cpu().name,
    logical_cpus=len(os.sched_getaffinity(0)),
    power_limit_w=600,
    max_sm_clock_mhz=2600,
    max_memory_clock_mhz=14_000,
    ecc=True,  # now; after a reset it will be off
    mig=False,
)


def test_a_gpu_is_what_its_driver_says() -> None:
    assert find_hardware(wanted="cuda", nvml=ScriptedNvml()) == BLACKWELL


@pytest.mark.parametrize(
    ("constant", "name"),
    [("BLACKWELL", "blackwell"), ("HOPPER", "hopper"), ("ADA", "ada"), ("AMPERE", "ampere"), ("VOLTA", "volta")],
)
def test_an_architecture_has_nvml_s_name(constant: str, name: str) -> None:
    nvml = ScriptedNvml(nvmlDeviceGetArchitecture=getattr(pynvml, f"NVML_DEVICE_ARCH_{constant}"))
    assert find_hardware(wanted="cuda", nvml=nvml).architecture == name


def test_a_newer_architecture_than_the_bindings_know_is_unknown() -> None:
    assert find_hardware(wanted="cuda", nvml=ScriptedNvml(nvmlDeviceGetArchitecture=4711)).architecture is None


def test_what_a_card_does_not_say_is_unknown() -> None:
    silent = Error(pynvml.NVML_ERROR_NOT_SUPPORTED)
    questions = ("EnforcedPowerLimit", "EccMode", "MigMode", "MaxClockInfo")
    found = find_hardware(wanted="cuda", nvml=ScriptedNvml(**{f"nvmlDeviceGet{name}": silent for name in questions}))
    unknown = ("power_limit_w", "max_sm_clock_mhz", "max_memory_clock_mhz", "ecc", "mig")
    assert found == replace(BLACKWELL, **dict.fromkeys(unknown))


def test_a_lower_power_limit_is_another_hardware() -> None:
    assert replace(BLACKWELL, power_limit_w=300).hardware_id != BLACKWELL.hardware_id


def test_hardware_recorded_before_these_were_asked_keeps_its_id() -> None:
    recorded = Hardware(
        kind="gpu",
        name="NVIDIA H200",
        architecture="hopper",
        compute_capability="9.0",
        accelerators=1,
        memory_bytes=150754820096,
        driver_version="580.159.04",
        cuda_version="13.0",
        host_cpu="Intel(R) Xeon(R) Processor",
        logical_cpus=16,
    )
    assert recorded.hardware_id == "98acabcc6995"


def test_a_cpu_engine_runs_on_the_cpu_even_beside_a_gpu() -> None:
    nvml = ScriptedNvml()
    found = find_hardware(wanted="cpu", nvml=nvml)
    assert (found.kind, found.accelerators, found.compute_capability) == ("cpu", 0, None)
    assert found.architecture == platform.machine()
    assert found.memory_bytes % (1 << 30) == 0
    assert nvml.calls == []


def test_a_cuda_engine_without_a_gpu_is_told_what_to_do() -> None:
    nvml = ScriptedNvml(nvmlInit=Error(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND))
    with pytest.raises(EnvironmentFault, match=r"no NVIDIA GPU answers .*nvidia-smi"):
        find_hardware(wanted="cuda", nvml=nvml)


def test_nvml_is_left_when_a_question_fails() -> None:
    nvml = ScriptedNvml(nvmlDeviceGetName=Error(pynvml.NVML_ERROR_GPU_IS_LOST))
    with pytest.raises(EnvironmentFault):
        find_hardware(wanted="cuda", nvml=nvml)
    assert nvml.calls[-1] == "nvmlShutdown"


def test_memory_is_the_same_after_a_boot_that_kept_a_little_more_for_the_kernel() -> None:
    gib = 1 << 30
    assert {hardware._rounded_memory(8 * gib - kept) for kept in (0, 100 << 20, 300 << 20)} == {8 * gib}


def test_a_machine_without_proc_is_named_after_its_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "Path", lambda _: SimpleNamespace(read_text=_no_file))
    assert cpu().name == (platform.processor() or platform.machine())


def _no_file(**_: str) -> str:
    raise FileNotFoundError
