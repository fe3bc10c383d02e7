"""What machine this is: NVML where there is a GPU, /proc otherwise. Never a guess: unknown is None."""

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml

from pipeline.domain.hardware import Hardware
from pipeline.errors import EnvironmentFault

_ARCHITECTURES = {
    name.removeprefix("NVML_DEVICE_ARCH_").lower(): value
    for name, value in vars(pynvml).items()
    if name.startswith("NVML_DEVICE_ARCH_")
}


def find_hardware(*, wanted: str, nvml: Any = pynvml) -> Hardware:
    """Return the hardware for platform `wanted` ("cpu" or "cuda").

    A CPU engine runs on the CPU even where a GPU is. Raises EnvironmentFault for a CUDA engine without a GPU.
    """
    if wanted == "cpu":
        return cpu()
    try:
        return gpu(nvml=nvml)
    except nvml.NVMLError as error:
        message = f"no NVIDIA GPU answers ({error}). Check nvidia-smi, or measure an engine of platform cpu."
        raise EnvironmentFault(message) from error


def cpu() -> Hardware:
    """Return this host as CPU hardware. `memory_bytes` is the host's RAM."""
    return Hardware(
        kind="cpu",
        name=_cpu_name(),
        architecture=platform.machine(),
        compute_capability=None,
        accelerators=0,
        memory_bytes=_rounded_memory(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        driver_version=None,
        cuda_version=None,
        host_cpu=_cpu_name(),
        logical_cpus=len(os.sched_getaffinity(0)),
    )


def gpu(index: int = 0, *, nvml: Any = pynvml) -> Hardware:
    """Return GPU `index` as NVML names it. Raises NVMLError where there is none."""
    nvml.nvmlInit()
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
        cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()

        def told(question: Callable[[], Any]) -> Any:
            """Return an answer that some cards do not give; None then."""
            try:
                return question()
            except nvml.NVMLError:
                return None

        limit_mw = told(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
        ecc = told(lambda: nvml.nvmlDeviceGetEccMode(handle))
        mig = told(lambda: nvml.nvmlDeviceGetMigMode(handle))
        return Hardware(
            kind="gpu",
            name=_text(nvml.nvmlDeviceGetName(handle)),
            architecture=_architecture(nvml.nvmlDeviceGetArchitecture(handle)),
            compute_capability=f"{major}.{minor}",
            accelerators=1,
            memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
            driver_version=_text(nvml.nvmlSystemGetDriverVersion()),
            cuda_version=f"{cuda // 1000}.{cuda % 1000 // 10}",
            host_cpu=_cpu_name(),
            logical_cpus=len(os.sched_getaffinity(0)),
            power_limit_w=None if limit_mw is None else round(limit_mw / 1000),
            max_sm_clock_mhz=told(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),
            max_memory_clock_mhz=told(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM)),
            ecc=None if ecc is None else bool(ecc[0]),  # now; the second says what it will be after a reset
            mig=None if mig is None else bool(mig[0]),
        )
    finally:
        nvml.nvmlShutdown()


def _architecture(value: int) -> str | None:
    return next((name for name, number in _ARCHITECTURES.items() if number == value), None)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _rounded_memory(size: int) -> int:
    """Round to GiB: the kernel's share differs a little between boots of one machine."""
    gib = 1 << 30
    return round(size / gib) * gib


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
