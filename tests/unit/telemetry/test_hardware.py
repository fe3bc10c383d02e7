"""What machine this is. NVML is replaced by one that answers as a Blackwell card's driver does."""

import os
import platform
from types import SimpleNamespace

import pynvml
import pytest

from pipeline.domain.hardware import Hardware
from pipeline.errors import EnvironmentFault
from pipeline.telemetry import hardware
from pipeline.telemetry.hardware import cpu, find_hardware

ANSWERS = {
    "nvmlInit": lambda: None,
    "nvmlShutdown": lambda: None,
    "nvmlDeviceGetHandleByIndex": lambda index: index,
    "nvmlDeviceGetCudaComputeCapability": lambda _: (12, 0),
    "nvmlSystemGetCudaDriverVersion_v2": lambda: 13010,
    "nvmlDeviceGetName": lambda _: b"NVIDIA RTX PRO 6000",
    "nvmlDeviceGetArchitecture": lambda _: pynvml.NVML_DEVICE_ARCH_BLACKWELL,
    "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=96 << 30),
    "nvmlSystemGetDriverVersion": lambda: "580.65.06",
}


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, answer in ANSWERS.items():
        monkeypatch.setattr(pynvml, name, answer)
    return monkeypatch


def test_a_gpu_is_what_its_driver_says(nvml: pytest.MonkeyPatch) -> None:
    found = find_hardware(wanted="cuda")
    assert found == Hardware(
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
    )


def test_a_newer_architecture_than_the_bindings_know_is_unknown(nvml: pytest.MonkeyPatch) -> None:
    nvml.setattr(pynvml, "nvmlDeviceGetArchitecture", lambda _: 4711)
    assert find_hardware(wanted="cuda").architecture is None


def test_a_cpu_engine_runs_on_the_cpu_even_beside_a_gpu(nvml: pytest.MonkeyPatch) -> None:
    found = find_hardware(wanted="cpu")
    assert (found.kind, found.accelerators, found.compute_capability) == ("cpu", 0, None)
    assert found.architecture == platform.machine()
    assert found.memory_bytes % (1 << 30) == 0


def test_a_cuda_engine_without_a_gpu_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", no_driver)
    with pytest.raises(EnvironmentFault, match=r"no NVIDIA GPU answers .*nvidia-smi"):
        find_hardware(wanted="cuda")


def test_nvml_is_left_when_a_question_fails(nvml: pytest.MonkeyPatch) -> None:
    left: list[str] = []

    def lost(_: int) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

    nvml.setattr(pynvml, "nvmlDeviceGetName", lost)
    nvml.setattr(pynvml, "nvmlShutdown", lambda: left.append("shutdown"))
    with pytest.raises(EnvironmentFault):
        find_hardware(wanted="cuda")
    assert left == ["shutdown"]


def test_memory_is_the_same_after_a_boot_that_kept_a_little_more_for_the_kernel() -> None:
    gib = 1 << 30
    assert {hardware._rounded_memory(8 * gib - kept) for kept in (0, 100 << 20, 300 << 20)} == {8 * gib}


def test_a_machine_without_proc_is_named_after_its_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "Path", lambda _: SimpleNamespace(read_text=_no_file))
    assert cpu().name == (platform.processor() or platform.machine())


def _no_file(**_: str) -> str:
    raise FileNotFoundError
