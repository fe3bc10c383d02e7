"""One GPU asked through NVML, question by question: one that fails is no answer, and takes no other with it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pynvml

Answers = dict[str, int | None]


class Gpu:
    """A GPU by its NVML handle. Made by `open_gpu`. What it does not support is asked once only."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._unsupported: set[str] = set()

    def figures(self) -> tuple[Answers, int]:
        """Return the fields of a TelemetrySample that NVML answers at once, and how many questions failed."""
        n, handle = self._nvml, self._handle
        return self._ask(
            {
                "power_mw": lambda: n.nvmlDeviceGetPowerUsage(handle),
                "energy_mj": lambda: n.nvmlDeviceGetTotalEnergyConsumption(handle),
                "gpu_memory_bytes": lambda: n.nvmlDeviceGetMemoryInfo(handle).used,
                "sm_clock_mhz": lambda: n.nvmlDeviceGetClockInfo(handle, n.NVML_CLOCK_SM),
                "memory_clock_mhz": lambda: n.nvmlDeviceGetClockInfo(handle, n.NVML_CLOCK_MEM),
                "temperature_c": lambda: n.nvmlDeviceGetTemperature(handle, n.NVML_TEMPERATURE_GPU),
                "gpu_utilization_percent": lambda: n.nvmlDeviceGetUtilizationRates(handle).gpu,
                "clock_reasons": self._clock_reasons,
            }
        )

    def processes(self) -> tuple[frozenset[int] | None, int]:
        """Return the ids of the compute processes on this GPU, as NVML names them, and how many questions failed."""
        pids: frozenset[int] | None = None

        def ask() -> int:
            nonlocal pids
            pids = frozenset(int(p.pid) for p in self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle))
            return len(pids)

        _, errors = self._ask({"processes": ask})
        return pids, errors

    def _clock_reasons(self) -> int:
        """Ask why the clocks are where they are, by its name of today or, of an older driver, of before."""
        n = self._nvml
        try:
            return int(n.nvmlDeviceGetCurrentClocksEventReasons(self._handle))
        except n.NVMLError as error:
            if error.value != n.NVML_ERROR_FUNCTION_NOT_FOUND:
                raise
            return int(n.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))

    def _ask(self, questions: Mapping[str, Callable[[], Any]]) -> tuple[Answers, int]:
        n = self._nvml
        answers: Answers = {}
        errors = 0
        for name, question in questions.items():
            if name in self._unsupported:
                continue
            try:
                answers[name] = int(question())
            except n.NVMLError as error:
                if error.value in (n.NVML_ERROR_NOT_SUPPORTED, n.NVML_ERROR_FUNCTION_NOT_FOUND):
                    self._unsupported.add(name)
                else:
                    errors += 1
        return answers, errors


@contextmanager
def open_gpu(*, index: int = 0, nvml: Any = pynvml) -> Iterator[Gpu | None]:
    """Yield GPU `index`; None where NVML does not give it. NVML is left at the end."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        yield None
        return
    try:
        yield _gpu(nvml, index)
    finally:
        nvml.nvmlShutdown()


def _gpu(nvml: Any, index: int) -> Gpu | None:
    try:
        return Gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
    except nvml.NVMLError:
        return None
