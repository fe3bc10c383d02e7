"""Exit status and log -> why a server did not serve, and what a person can do about it."""

import re
import signal
from dataclasses import dataclass

from pipeline.domain.server_start import Failure, FailureClass

_PREFIX = re.compile(
    r"^(?:\([^)]*pid=\d+\) )?(?:(?:INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] )?"
)
_INCOMPLETE = (
    "Install what is missing into the engine's environment: for what a method needs, specwatch engines install VERSION "
    "--methods METHOD. Or remove the engine's directory and install it again."
)
_LINE_LIMIT = 400
_USAGE_EXIT = 2
_SIGNAL_BASE = 128


@dataclass(frozen=True, slots=True)
class _Sign:
    failure_class: FailureClass
    pattern: re.Pattern[str]
    happened: str
    next_step: str
    retryable: bool = False


def _sign(name: FailureClass, pattern: str, *, happened: str, next_step: str, retryable: bool = False) -> _Sign:
    return _Sign(name, re.compile(pattern, re.IGNORECASE), happened, next_step, retryable)


# In this order: the cause comes before what it makes die.
_SIGNS: tuple[_Sign, ...] = (
    _sign(
        "disk_full",
        r"No space left on device|Disk quota exceeded|\[Errno (?:28|122)\]",
        happened="the disk is full",
        next_step="Free some space on the disk that holds SPECWATCH_HOME and /tmp, then run again.",
    ),
    _sign(
        "port_taken",
        r"Address already in use|\[Errno 98\]",
        happened="the port is taken",
        next_step="Stop the process that listens there, or set SPECWATCH_VLLM_PORT to a free port.",
        retryable=True,
    ),
    _sign(
        "driver_too_old",
        r"NVIDIA driver on your system is too old|CUDA driver version is insufficient"
        r"|forward compatibility was attempted|unsupported display driver|no CUDA-capable device"
        r"|Found no NVIDIA driver",
        happened="the NVIDIA driver does not fit this release",
        next_step="Update the NVIDIA driver, or measure a release built for a CUDA version that it supports.",
    ),
    _sign(
        "architecture_unsupported",
        r"no kernel image is available|is not compatible with the current PyTorch installation"
        r"|Model architectures .* (?:are not supported|failed to be inspected)|does not recognize this architecture"
        r"|(?:Unsupported|unknown) (?:model )?architecture|not supported on compute capability"
        r"|requires? (?:a )?(?:GPU with )?compute capability|This kernel only supports sm",
        happened="this release does not support this GPU or this model's architecture",
        next_step="Use a newer vLLM release for this model and GPU, or take the pair out of the matrix.",
    ),
    _sign(
        "no_access",
        r"GatedRepoError|gated repo|\b40[13] Client Error|Access to model .* is restricted|Invalid user token",
        happened="the model hub refused access",
        next_step="Accept the model's terms on its hub page and set HF_TOKEN, or download the model and give its path.",
    ),
    _sign(
        "not_found",
        r"RepositoryNotFoundError|RevisionNotFoundError|EntryNotFoundError|not a valid model identifier"
        r"|Invalid repository ID or local directory|does not appear to have a file named|find it in the cached files"
        r"|can't load the (?:configuration|config|model)|outgoing traffic has been disabled",
        happened="the model was not found",
        next_step="Check the model's path or hub id, and download it to this machine first.",
    ),
    _sign(
        "out_of_memory",
        r"out of memory|OutOfMemoryError|\bMemoryError\b|Cannot allocate memory|can't allocate memory"
        r"|No available memory for the cache blocks|less than desired [CG]PU memory utilization"
        r"|CUBLAS_STATUS_ALLOC_FAILED|Available memory on node .* is less than"
        r"|exceed the desired GPU memory utilization"
        r"|(?:larger|greater) than the (?:maximum number of tokens|available KV cache memory)",
        happened="memory ran out",
        next_step="Lower max_model_len, max_num_seqs or gpu_memory_utilization, or use a smaller model.",
    ),
    _sign(
        "bad_flag",
        r"error: (?:unrecognized arguments|argument |the following arguments)|validation errors? for \w*(?:Config|Args)"
        r"|unexpected keyword argument|invalid choice:",
        happened="this release refused a flag",
        next_step="Remove the option from the matrix, or measure a release that knows it.",
    ),
    _sign(
        "engine_died",
        r"EngineDeadError|EngineCore (?:died|encountered a fatal error)"
        r"|Engine core (?:initialization failed|proc .* died)"
        r"|EngineCore failed to start|died unexpectedly",
        happened="vLLM's engine process died",
        next_step="Read the traceback in server.log.zst; the run is tried again once.",
        retryable=True,
    ),
    _sign(
        "engine_died",
        r"ModuleNotFoundError: No module named"
        r"|ImportError: .*(?:is required|cannot open shared object|undefined symbol)",
        happened="a package is missing in the engine's environment, or does not fit it",
        next_step=_INCOMPLETE,
    ),
)


_RAISED = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception)): \S.*")
_ECHO = re.compile(r"EngineDeadError|Engine core initialization failed|EngineCore failed to start")


def classify(exit_status: int | None, log: str) -> Failure:
    """Return the failure that `log` tells of, else the one that the exit status tells of.

    `exit_status` is the process's: negative or 128 + n for signal n, None when it still ran.
    """
    lines = log.splitlines()
    for sign in _SIGNS:
        for line in lines:
            if sign.pattern.search(line):
                if sign.failure_class == "engine_died":
                    return _engine_died(sign, lines, seen=line)
                message = f"{sign.happened}: {_shown(line)}"
                return Failure(sign.failure_class, message, sign.next_step, sign.retryable)
    if exit_status == _USAGE_EXIT:
        return Failure(
            "bad_flag",
            f"the server refused its command line (exit status 2): {_last(lines)}",
            "Compare the flags in start.json with `--help` of this release.",
            retryable=False,
        )
    return _by_status(exit_status, last=_last(lines))


def _engine_died(sign: _Sign, lines: list[str], *, seen: str) -> Failure:
    """Name the exception that killed the engine: the line that says it died is only its echo."""
    raised = [found for line in lines if (found := _RAISED.match(_shown(line))) and not _ECHO.search(line)]
    if not raised:
        return Failure(sign.failure_class, f"{sign.happened}: {_shown(seen)}", sign.next_step, sign.retryable)
    cause = raised[-1]
    message = f"{sign.happened}: {cause.group(0)}"
    if cause.group(1) in ("ModuleNotFoundError", "ImportError"):
        return Failure(sign.failure_class, message, _INCOMPLETE, retryable=False)
    return Failure(sign.failure_class, message, sign.next_step, sign.retryable)


def _by_status(exit_status: int | None, *, last: str) -> Failure:
    number = _signal_number(exit_status)
    if number in (signal.SIGKILL, signal.SIGTERM):
        return Failure(
            "killed",
            f"the server was killed by {signal.Signals(number).name}; its last log line: {last}",
            "Look for the kernel's out-of-memory killer (`dmesg`) or another program that stopped it, then run again.",
            retryable=True,
        )
    if number is not None:
        return Failure(
            "engine_died",
            f"the server crashed ({_signal_name(number)}); its last log line: {last}",
            "Read server.log.zst; a crash in a released kernel is worth a report to vLLM.",
            retryable=True,
        )
    return Failure(
        "unknown",
        f"the server ended with exit status {exit_status}; its last log line: {last}",
        "Read server.log.zst of this start.",
        retryable=True,
    )


def _signal_number(exit_status: int | None) -> int | None:
    if exit_status is None or 0 <= exit_status <= _SIGNAL_BASE:
        return None
    return -exit_status if exit_status < 0 else exit_status - _SIGNAL_BASE


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last(lines: list[str]) -> str:
    return next((_shown(line) for line in reversed(lines) if line.strip()), "(empty log)")


def _shown(line: str) -> str:
    return _PREFIX.sub("", line.strip())[:_LINE_LIMIT]
