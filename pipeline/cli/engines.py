"""`specwatch engines`: vLLM releases on this machine, and what any release can do."""

import time
from datetime import UTC, datetime
from typing import Any

from pipeline.cli.output import progress_bar, say, say_json, table, tell
from pipeline.domain.engine import Engine, version_kind
from pipeline.domain.method import Method
from pipeline.engines.capability import METHODS, everything, needs, requirement, unsupported
from pipeline.engines.install import InstalledEngine, install, installed
from pipeline.engines.kept import KeptEngine, kept_engines, prune
from pipeline.engines.packages import add
from pipeline.engines.registry import load_registry
from pipeline.engines.rulings import Ruling, unread
from pipeline.engines.versions import resolve_versions
from pipeline.errors import EXIT_DONE, EnvironmentFault, UserError
from pipeline.settings import Settings, load_settings
from pipeline.steps.pinning import pinned_versions
from pipeline.telemetry.hardware import find_hardware

_MIB = 1 << 20


def run(arguments: Any) -> int:
    """List, install, show, resolve or prune."""
    actions = {
        "list": _list,
        "install": _install,
        "show": _show,
        "resolve": _resolve,
        "prune": _prune,
    }
    actions[arguments.action](arguments, load_settings())
    return EXIT_DONE


def _list(arguments: Any, settings: Settings) -> None:
    found = kept_engines(settings.engines, caches=settings.home / "cache")
    if arguments.json:
        say_json([_kept_document(kept) for kept in found])
        return
    if not found:
        say(f"no engine is installed in {settings.engines}: specwatch engines install latest")
        return
    rows = [
        (
            *(kept.installed.engine.version, kept.installed.engine.platform, kept.installed.packages.get("torch")),
            *(len(kept.installed.packages), _mib(kept.size_bytes), _mib(kept.cache_bytes)),
            *(f"{datetime.fromtimestamp(kept.last_used_s, UTC):%Y-%m-%d}", kept.installed.python),
        )
        for kept in found
    ]
    table(("version", "platform", "torch", "packages", "size", "caches", "last used", "python"), rows)


def _install(arguments: Any, settings: Settings) -> None:
    for name in arguments.methods or ():
        if name not in METHODS:
            message = f"the registry knows no method {name!r}; it knows {', '.join(sorted(METHODS))}"
            raise UserError(message)
    documents = []
    for version in _versions(arguments):
        engine = Engine(version=version, platform=arguments.platform or _platform())
        with progress_bar(engine.engine_id) as (_, report):
            made = install(engine, root=settings.engines, report=report)
            made = add(made, needs(engine, arguments.methods or ()), root=settings.engines, report=report)
        documents.append(_document(made))
        if not arguments.json:
            say(f"{engine.engine_id} at {made.python}")
    if arguments.json:  # a range: a list; one release: an object
        say_json(documents if version_kind(arguments.version) in ("range", "last") else documents[0])


def _show(arguments: Any, settings: Settings) -> None:
    (version,) = _versions(arguments)[-1:]
    engine = Engine(version=version, platform=arguments.platform or _platform())
    wanted, found = requirement(engine), installed(engine, root=settings.engines)
    rulings = everything(engine)
    if arguments.json:
        say_json(
            {
                "engine": engine.engine_id,
                "installed": str(found.python) if found else None,
                "read": _read(engine),
                "needs": wanted.model_dump(exclude={"versions", "platform"}) if wanted else None,
            }
            | {str(group): {name: _ruling(ruling) for name, ruling in of.items()} for group, of in rulings.items()}
        )
        return
    say(f"{engine.engine_id}: {f'installed at {found.python}' if found else 'not installed here'}")
    if unknown := _read(engine):
        say(unknown)
    if wanted:
        cuda = f", CUDA {wanted.cuda}, driver {wanted.driver}" if wanted.cuda else ""
        say(f"needs torch {wanted.torch}{cuda}, Python {wanted.python}")
    for group, of in rulings.items():
        table((group, "here", ""), [(name, *_row(ruling)) for name, ruling in of.items()])


def _read(engine: Engine) -> str | None:
    """Say that nobody read this release, where that is so: its tables then hold what is likely, not what is known."""
    registry = load_registry()
    if unread(engine.version):
        return (
            f"newer than {registry.read_up_to}, the last release that the registry knows: what it refuses is not known"
        )
    if unsupported(engine, Method("none", "none"), temperature=0.0):
        return f"older than {registry.read_from}, the first release that the registry knows: never planned"
    return None


def _resolve(arguments: Any, _settings: Settings) -> None:
    versions = _versions(arguments)
    if arguments.json:
        say_json({"spec": arguments.version, "platform": arguments.platform or _platform(), "versions": versions})
    else:
        for version in versions:
            say(version)


def _prune(arguments: Any, settings: Settings) -> None:
    done = prune(
        settings.engines,
        caches=settings.home / "cache",
        pinned=pinned_versions(report=tell) | set(arguments.keep or ()),
        older_than_days=arguments.days,
        now_s=time.time(),
        dry_run=arguments.dry_run,
    )
    if arguments.json:
        say_json(
            [
                {"engine": p.engine.engine_id, "removed": p.removed and not arguments.dry_run}
                | {"would_remove": p.removed, "reason": p.reason, "freed_bytes": p.freed_bytes}
                for p in done
            ]
        )
        return
    if not done:
        say(f"no engine is installed in {settings.engines}: there is nothing to prune")
        return
    word = "would be removed" if arguments.dry_run else "removed"
    rows = [
        (p.engine.engine_id, word if p.removed else "stays", p.reason, _mib(p.freed_bytes) if p.removed else None)
        for p in done
    ]
    table(("engine", "", "why", "freed"), rows)


def _versions(arguments: Any) -> tuple[str, ...]:
    if not arguments.version:
        message = f"which version? specwatch engines {arguments.action} 0.32.0"
        raise UserError(message)
    if version_kind(arguments.version) == "release":
        return (str(arguments.version),)
    return resolve_versions(arguments.version, platform=arguments.platform or _platform())


def _platform() -> Any:
    try:
        find_hardware(wanted="cuda")
    except EnvironmentFault:
        return "cpu"
    return "cuda"


def _row(ruling: Ruling) -> tuple[str, str | None]:
    return (f"is {ruling.to}" if ruling.to else ruling.state), ruling.reason


def _ruling(ruling: Ruling) -> dict[str, str | None]:
    return {"state": ruling.state, "to": ruling.to, "reason": ruling.reason, "source": ruling.source}


def _mib(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB"


def _document(found: InstalledEngine) -> dict[str, Any]:
    return {"engine": found.engine.engine_id, "python": str(found.python), "packages": found.packages}


def _kept_document(kept: KeptEngine) -> dict[str, Any]:
    return _document(kept.installed) | {
        "version": kept.installed.engine.version,
        "platform": kept.installed.engine.platform,
        "size_bytes": kept.size_bytes,
        "cache_bytes": kept.cache_bytes,
        "last_used": datetime.fromtimestamp(kept.last_used_s, UTC).isoformat(),
    }
