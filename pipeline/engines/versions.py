"""`latest`, `last 5` and ranges -> releases that exist now, as uv finds them with this machine's own configuration.

uv lists no versions, so it is asked again and again for the highest one below the last.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice

from packaging.version import Version

from pipeline.domain.engine import LAST, Platform, version_kind
from pipeline.engines.find_links import find_links
from pipeline.engines.install import PACKAGES
from pipeline.engines.uv_command import UvFailed, is_offline, last_lines, query_uv
from pipeline.errors import EnvironmentFault, UserError

MAX_RELEASES = 60  # of a range: more is a mistake, and each one costs a question to the index
_FOUND = re.compile(r"==(\S+)")
_NOTHING = re.compile(
    r"No solution found|not found in the (?:package registry|provided package locations)", re.IGNORECASE
)


def resolve_versions(spec: str, *, platform: Platform, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the releases that `spec` names on `platform`, oldest first; a release number stands for itself.

    Of a release that was packaged again (0.12.0.post2) only the newest package counts. Raises UserError for text that
    names no release, or none that exists for this Python; EnvironmentFault when the package index is out of reach.
    """
    kind = version_kind(spec)
    if kind is None:
        message = f"{spec!r} names no vLLM release: write 0.32.0, latest, last 5, or a range such as >=0.27,<0.33."
        raise UserError(message)
    if kind == "release":
        return (spec,)
    wanted = {"latest": 1, "last": int(found[1]) if (found := LAST.fullmatch(spec)) else 0}.get(kind, MAX_RELEASES)
    within = spec if kind == "range" else ""
    told = dict(os.environ if environ is None else environ)
    if places := find_links(told):
        told["UV_FIND_LINKS"] = ",".join(places)
    package = PACKAGES[platform]
    releases = list(islice(_downwards(package, within, environ=told), wanted + 1 if kind == "range" else wanted))
    if len(releases) > MAX_RELEASES:
        message = f"{spec} names more than {MAX_RELEASES} releases of {package}. Narrow it, or write last N."
        raise UserError(message)
    if not releases:
        message = f"no release of {package} is {spec} for Python {_python()}. Name another range."
        raise UserError(message)
    return tuple(reversed(releases))


def _downwards(package: str, within: str, *, environ: Mapping[str, str]) -> Iterator[str]:
    bound = ""
    while True:
        specifiers = ",".join(part for part in (within, bound) if part)
        found = _highest(f"{package}{specifiers}", environ=environ)
        if found is None:
            return
        yield found
        bound = f"<{Version(found).base_version}"


def _highest(requirement: str, *, environ: Mapping[str, str]) -> str | None:
    arguments = ["pip", "compile", "-", "--quiet", "--no-deps", "--no-annotate", "--no-header", "--no-build"]
    try:
        answer = query_uv([*arguments, "--python", sys.executable], environ=environ, standard_input=requirement)
    except UvFailed as failed:
        if is_offline(failed.output):
            message = (
                f"which releases of {requirement} exist cannot be asked: the package index is out of reach. Check the "
                "network and proxy settings, or name releases by number, which needs no index to plan."
            )
            raise EnvironmentFault(message) from failed
        if _NOTHING.search(failed.output):
            return None
        message = f"uv cannot say which releases of {requirement} exist: {last_lines(failed.output)}"
        raise EnvironmentFault(message) from failed
    match = _FOUND.search(answer)
    return match[1] if match else None


def _python() -> str:
    return ".".join(str(part) for part in sys.version_info[:3])
