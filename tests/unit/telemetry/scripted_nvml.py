"""An NVML that answers by a script: the names of pynvml that we call, and its errors. Passed in, never patched in."""

from types import SimpleNamespace
from typing import Any

import pynvml


class ScriptedNvml:
    """One Blackwell card. `answers` by name of the call: a value, values by the last argument, a function, an error."""

    NVMLError = pynvml.NVMLError
    NVML_ERROR_NOT_SUPPORTED = pynvml.NVML_ERROR_NOT_SUPPORTED
    NVML_ERROR_FUNCTION_NOT_FOUND = pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
    NVML_CLOCK_SM = pynvml.NVML_CLOCK_SM
    NVML_CLOCK_MEM = pynvml.NVML_CLOCK_MEM
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {
            "nvmlInit": None,
            "nvmlShutdown": None,
            "nvmlDeviceGetHandleByIndex": "card",
            "nvmlDeviceGetCudaComputeCapability": (12, 0),
            "nvmlSystemGetCudaDriverVersion_v2": 13010,
            "nvmlDeviceGetName": b"NVIDIA RTX PRO 6000",
            "nvmlDeviceGetArchitecture": pynvml.NVML_DEVICE_ARCH_BLACKWELL,
            "nvmlSystemGetDriverVersion": "580.65.06",
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=96 << 30, used=90 << 30),
            "nvmlDeviceGetEnforcedPowerLimit": 600_000,
            "nvmlDeviceGetEccMode": (1, 0),
            "nvmlDeviceGetMigMode": (0, 1),
            "nvmlDeviceGetMaxClockInfo": {pynvml.NVML_CLOCK_SM: 2600, pynvml.NVML_CLOCK_MEM: 14_000},
            "nvmlDeviceGetPowerUsage": 400_000,
            "nvmlDeviceGetTotalEnergyConsumption": 1_000,
            "nvmlDeviceGetClockInfo": {pynvml.NVML_CLOCK_SM: 2400, pynvml.NVML_CLOCK_MEM: 13_900},
            "nvmlDeviceGetTemperature": 61,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
            "nvmlDeviceGetCurrentClocksEventReasons": pynvml.nvmlClocksEventReasonSwPowerCap,
            "nvmlDeviceGetComputeRunningProcesses": [],
        } | answers
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name not in self.answers:
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            answer = self.answers[name]
            if isinstance(answer, Error):
                raise pynvml.NVMLError(answer.code)
            if isinstance(answer, dict):
                return answer[arguments[-1]]
            return answer() if callable(answer) else answer

        return call


class Error:
    """An answer that is an NVML error."""

    def __init__(self, code: int) -> None:
        self.code = code


def running(*pids: int) -> list[SimpleNamespace]:
    """Return compute processes as NVML lists them."""
    return [SimpleNamespace(pid=pid, usedGpuMemory=1) for pid in pids]
