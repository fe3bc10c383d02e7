"""What one release has to say of one thing: renamed, refused with a reason, or supported. Pure.

Answers are kept: a matrix asks the same of many cells.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from pipeline.domain.engine import Engine, Platform
from pipeline.engines.conversions import Conversion
from pipeline.engines.registry import Entry, Refusal, load_registry

Group = Literal["methods", "keys", "flags", "environment", "sampling", "hardware"]
State = Literal["supported", "renamed", "refused"]
GROUPS: tuple[Group, ...] = ("methods", "keys", "flags", "environment", "sampling", "hardware")


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one release has to say of one thing."""

    state: State
    reason: str | None = None  # of a refusal, with how we know; otherwise a note
    to: str | None = None  # of a renaming
    of: Literal["name", "value"] = "name"  # what is renamed
    convert: Conversion | None = None
    source: str | None = None  # of what is not refused: how we know

    @property
    def refused(self) -> bool:
        """Whether it does not work."""
        return self.state == "refused"


SUPPORTED = Ruling("supported")


def key_ruling(engine: Engine, key: str, *, value: Any, method: str) -> Ruling:
    """Return what becomes of a --speculative-config key with `value` in this release."""
    registry = load_registry()
    entry = registry.keys.get(key)
    if entry is None:
        return _unknown(engine.version, f"speculative-config key {key}")
    if entry.methods and method not in entry.methods:
        return Ruling("refused", f"{key} is of no use to method {method}: {', '.join(entry.methods)} take it")
    ruling = rule(engine, "keys", key)
    if ruling.state != "supported" or key not in registry.values:
        return ruling
    return value_ruling(engine, key, value=value)


@functools.cache
def _value(version: str, platform: Platform, key: str, value: str) -> Ruling:
    registry = load_registry()
    entry = registry.values[key].get(value)
    name = f"{key} {value}"
    if entry is None:
        return _unknown(version, name)
    return replace(_judge(entry, name=name, version=version, platform=platform), of="value")


def value_ruling(engine: Engine, key: str, *, value: Any) -> Ruling:
    """Return what becomes of `value` behind `key`; every value is taken where the registry lists none."""
    if key not in load_registry().values:
        return SUPPORTED
    return _value(engine.version, engine.platform, key, str(value))


def flag_ruling(engine: Engine, flag: str) -> Ruling:
    """Return whether this release has a server flag."""
    return rule(engine, "flags", flag)


def variable_ruling(engine: Engine, variable: str) -> Ruling:
    """Return whether this release reads an environment variable."""
    return rule(engine, "environment", variable)


@functools.lru_cache(maxsize=4096)
def release_of(text: str) -> Version | None:
    """Return a version that can be compared; None for text that is none."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


@functools.lru_cache(maxsize=4096)
def _specifiers(text: str) -> SpecifierSet:
    return SpecifierSet(text, prereleases=True)


def within(specifiers: str, version: Version) -> bool:
    """Return whether `version` is one that `specifiers` name; release candidates count."""
    return _specifiers(specifiers).contains(version)


def rule(engine: Engine, group: Group, name: str, *, speculating: bool = False, method: str | None = None) -> Ruling:
    """Return the ruling on `name`, with `method` where that matters; None: what holds for all of them.

    What the package index has of a release matters only where we install it.
    """
    return _ruled(
        group,
        name,
        version=engine.version,
        platform=engine.platform,
        speculating=speculating,
        installed=engine.python is None and not engine.external,
        method=method,
    )


@functools.cache
def _ruled(
    group: Group,
    name: str,
    *,
    version: str,
    platform: Platform,
    speculating: bool,
    installed: bool,
    method: str | None,
) -> Ruling:
    entry = getattr(load_registry(), group).get(name)
    if entry is None:
        return SUPPORTED if group in ("hardware", "sampling", "environment") else _unknown(version, name)
    return _judge(
        entry,
        name=name,
        version=version,
        platform=platform,
        speculating=speculating,
        installed=installed,
        method=method,
    )


@functools.cache
def speculation(version: str, platform: Platform) -> Ruling:
    """Return whether this release speculates at all on this platform."""
    refusals = load_registry().speculation.refused
    return _refused(refusals, source="package", version=version, platform=platform) or SUPPORTED


def _judge(
    entry: Entry,
    *,
    name: str,
    version: str,
    platform: Platform,
    speculating: bool = False,
    installed: bool = True,
    method: str | None = None,
) -> Ruling:
    """Renamed, else refused for a stated reason, else not there yet or no more, else supported."""
    release = release_of(version)
    if release is None:
        return Ruling("refused", f"{version!r} is not a release number such as 0.32.0")
    for renaming in entry.renamed:
        if within(renaming.versions, release):
            return Ruling("renamed", entry.note, to=renaming.to, convert=renaming.convert, source=_source(entry.source))
    refusal = _refused(
        [told for told in entry.refused if not told.methods or method in told.methods],
        source=entry.source,
        version=version,
        platform=platform,
        speculating=speculating,
        installed=installed,
    )
    if refusal:
        return refusal
    if entry.since and release < Version(entry.since) and not _is_of(release, entry.since):
        return Ruling("refused", f"{name} came with {entry.since} ({_source(entry.source)})")
    if entry.until and (release >= Version(entry.until) or _is_of(release, entry.until)):
        return Ruling("refused", f"{name} was removed in {entry.until} ({_source(entry.source)}){_aside(entry)}")
    return Ruling("supported", _notes(entry, release), source=_source(entry.source))


def _notes(entry: Entry, release: Version) -> str | None:
    """What is worth knowing of something that works: a note, what it needs, and with which methods it does not."""
    said = [entry.note] if entry.note else []
    said += [
        f"needs {need.package}" + (f" ({need.note})" if need.note else "")
        for need in entry.needs
        if within(need.versions, release)
    ]
    said += [
        f"not with {', '.join(refusal.methods)}: {refusal.reason}"
        for refusal in entry.refused
        if refusal.methods and within(refusal.versions, release)
    ]
    return "; ".join(said) or None


def _refused(
    refusals: Iterable[Refusal],
    *,
    source: str,
    version: str,
    platform: Platform,
    speculating: bool = True,
    installed: bool = True,
) -> Ruling | None:
    release = release_of(version)
    for refusal in refusals:
        if (
            release is not None
            and refusal.platform in (None, platform)
            and within(refusal.versions, release)
            and (speculating or not refusal.speculating)
            and (installed or not refusal.from_index)
        ):
            return Ruling("refused", f"{refusal.reason} ({_source(refusal.source or source)})")
    return None


def _is_of(release: Version, named: str) -> bool:
    """A release candidate of 0.33.0 counts as 0.33.0."""
    return release.base_version == Version(named).base_version


def unread(version: str) -> bool:
    """Return whether a release is newer than what the registry was read from."""
    release = release_of(version)
    return release is not None and release > Version(load_registry().read_up_to)


def _unknown(version: str, name: str) -> Ruling:
    """What nobody read of a release that is newer than the registry is left to vLLM."""
    registry = load_registry()
    if unread(version):
        return SUPPORTED
    return Ruling("refused", f"no release up to {registry.read_up_to} has {name}")


def _aside(entry: Entry) -> str:
    return f": {entry.note}" if entry.note else ""


def _source(name: str) -> str:
    return load_registry().sources[name]
