"""What a vLLM release can do on a platform: questions put to the registry before a minute is spent. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from packaging.version import Version

from pipeline.domain.engine import Engine, EngineFacts
from pipeline.domain.hardware import Hardware
from pipeline.domain.method import Method
from pipeline.engines.registry import Requirement, load_registry
from pipeline.engines.rulings import (
    GROUPS,
    SUPPORTED,
    Ruling,
    key_ruling,
    release_of,
    rule,
    speculation,
    unread,
    value_ruling,
    within,
)

CUSTOM = "custom:"  # before a method's name: vLLM gets it, and the arm's options, as they are

METHODS: frozenset[str] = frozenset(load_registry().methods)


def unsupported(
    engine: Engine,
    method: Method,
    *,
    temperature: float,
    sampling: Iterable[str] = (),
    flags: Iterable[str] = (),
    hardware: Hardware | None = None,
) -> str | None:
    """Return why `engine` cannot run `method`, and how we know; None if it can.

    `sampling` are further sampling parameters that requests set, `flags` those of the server that are asked for, and
    `hardware` is the machine, where it is known.
    """
    release = release_of(engine.version)
    if release is None:
        return f"{engine.version!r} is not a release number such as 0.32.0"
    if release < Version(load_registry().read_from):
        return f"{engine.version} is older than {load_registry().read_from}, the first release that the registry knows"
    asked = (*(("temperature",) if temperature > 0 else ()), *sampling)
    for ruling in _rulings(engine, method, sampling=asked, flags=tuple(flags), hardware=hardware):
        if ruling.refused:
            return f"{ruling.reason}; engine {engine.engine_id}"
    return None


def _rulings(
    engine: Engine, method: Method, *, sampling: Iterable[str], flags: Iterable[str], hardware: Hardware | None
) -> Iterable[Ruling]:
    speculating = not method.is_baseline
    if hardware and hardware.compute_capability and engine.platform == "cuda" and not engine.external:
        yield rule(engine, "hardware", hardware.compute_capability)
    yield _method(engine, method)
    if not method.method.startswith(CUSTOM):
        for key, value in method.options.items():
            yield key_ruling(engine, key, value=value, method=method.method)
    for name in sampling:
        yield rule(engine, "sampling", name, speculating=speculating, method=method.method)
    if not engine.external:
        for name in flags:
            yield rule(engine, "flags", name)


def _method(engine: Engine, method: Method) -> Ruling:
    name = method.method
    if not method.is_baseline:
        general = speculation(engine.version, engine.platform)
        if general.refused:
            return general
    if name.startswith(CUSTOM):
        return SUPPORTED
    if name not in METHODS:
        known = ", ".join(sorted(METHODS))
        return Ruling(
            "refused", f"the registry knows no method {name!r} (it knows {known}); write {CUSTOM}{name} to try"
        )
    if load_registry().methods[name].draft and method.draft is None and not engine.external:
        return Ruling("refused", f"method {name} needs a draft: name one under `drafts`")
    return rule(engine, "methods", name)


def requirement(engine: Engine) -> Requirement | None:
    """Return what this release needs; None where the registry does not say, as of one that nobody read yet."""
    release = None if unread(engine.version) else release_of(engine.version)
    for line in load_registry().requirements:
        if release and line.platform == engine.platform and within(line.versions, release):
            return line
    return None


def driver_refusal(engine: Engine, *, driver_version: str | None) -> str | None:
    """Return why the NVIDIA driver is too old for this release; None when it is not, or when nobody knows."""
    needs = requirement(engine)
    if needs is None or needs.driver is None or driver_version is None or engine.python or engine.external:
        return None
    found = release_of(driver_version)
    if found is None or within(needs.driver, found):
        return None
    return f"the NVIDIA driver is {driver_version}, and CUDA {needs.cuda} of this release needs {needs.driver}"


def needs(engine: Engine, methods: Iterable[str]) -> tuple[str, ...]:
    """Return the packages that `methods` want beside this release, as pip writes them: `arctic-inference==0.1.1`."""
    release, known = release_of(engine.version), load_registry().methods
    wanted = (need for name in methods if name in known for need in known[name].needs)
    return tuple(dict.fromkeys(need.package for need in wanted if release and within(need.versions, release)))


def settle(facts: EngineFacts, *, engine: Engine) -> EngineFacts:
    """Return start-up `facts` with what the platform's code settles in this release."""
    release = release_of(engine.version)
    for line in load_registry().settled:
        holds = release is not None and line.platform == engine.platform and within(line.versions, release)
        if holds and not (line.where_silent and getattr(facts, line.fact) is not None):
            facts = replace(facts, **{line.fact: line.value})  # type: ignore[arg-type]  # a field by its name
    return facts


def everything(engine: Engine) -> dict[str, Mapping[str, Ruling]]:
    """Return every ruling of this release, group by group: what `engines show` prints."""
    registry = load_registry()

    found: dict[str, Mapping[str, Ruling]] = {}
    for group in GROUPS:
        found[group] = {name: rule(engine, group, name, speculating=True) for name in getattr(registry, group)}
    general = speculation(engine.version, engine.platform)
    if general.refused:
        found["methods"] = {name: own if name == "none" else general for name, own in found["methods"].items()}
    found["values"] = {
        f"{key} {value}": value_ruling(engine, key, value=value)
        for key, values in registry.values.items()
        for value in values
    }
    return found
