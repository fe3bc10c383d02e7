"""`specwatch engines`: vLLM releases on this machine."""

from typing import Any

from pipeline.cli.output import say, say_json, table, tell
from pipeline.domain.engine import Engine
from pipeline.domain.method import Method
from pipeline.engines.capability import METHODS, unsupported
from pipeline.engines.install import InstalledEngine, install, list_installed
from pipeline.errors import EXIT_DONE, EnvironmentFault, UserError
from pipeline.settings import load_settings
from pipeline.telemetry.hardware import find_hardware


def run(arguments: Any) -> int:
    """List, install or show."""
    settings = load_settings()
    if arguments.action == "list":
        found = list_installed(settings.engines)
        if arguments.json:
            say_json([_document(engine) for engine in found])
        else:
            rows = [(e.engine.version, e.engine.platform, e.packages.get("torch"), e.python) for e in found]
            table(("version", "platform", "torch", "python"), rows)
        return EXIT_DONE
    if not arguments.version:
        message = f"which version? specwatch engines {arguments.action} 0.32.0"
        raise UserError(message)
    engine = Engine(version=arguments.version, platform=arguments.platform or _platform())
    if arguments.action == "install":
        made = install(engine, root=settings.engines, report=tell)
        say_json(_document(made)) if arguments.json else say(f"{engine.engine_id} at {made.python}")
        return EXIT_DONE
    can = {name: unsupported(engine, Method(name=name, method=name), temperature=0.0) for name in sorted(METHODS)}
    if arguments.json:
        say_json({"engine": engine.engine_id, "unsupported": can})
    else:
        table(("method", engine.engine_id), [(name, reason or "supported") for name, reason in can.items()])
    return EXIT_DONE


def _platform() -> Any:
    try:
        find_hardware(wanted="cuda")
    except EnvironmentFault:
        return "cpu"
    return "cuda"


def _document(found: InstalledEngine) -> dict[str, Any]:
    return {"engine": found.engine.engine_id, "python": str(found.python), "packages": found.packages}
