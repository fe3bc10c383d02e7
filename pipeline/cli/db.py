"""`specwatch db`: the warehouse itself."""

from typing import Any

from pipeline.cli.output import say, say_json, tell
from pipeline.errors import EXIT_DONE, EXIT_ENVIRONMENT
from pipeline.settings import Settings, load_settings


def run(arguments: Any) -> int:
    """Start, stop, migrate, or print the address."""
    settings = load_settings()
    if arguments.action == "down":
        return _down(settings)
    if arguments.action == "url":
        return _url(settings, as_json=arguments.json)
    from pipeline.steps.warehousing import migrate_warehouse, warehouse_url

    url = warehouse_url(settings)
    migrate_warehouse(url)
    tell("the warehouse is up and at this release's schema")
    return EXIT_DONE


def _down(settings: Settings) -> int:
    from pipeline.system import postgres
    from pipeline.system.layout import Layout

    say("stopped" if postgres.stop(Layout(settings.home).postgres) else "the embedded database does not run")
    return EXIT_DONE


def _url(settings: Settings, *, as_json: bool) -> int:
    from pipeline.system import postgres
    from pipeline.system.layout import Layout
    from pipeline.system.services import WAREHOUSE_DATABASE

    data = Layout(settings.home).postgres
    if not settings.warehouse_url and not postgres.status(data).running:
        say("the embedded database does not run: specwatch db up")
        return EXIT_ENVIRONMENT
    url = settings.warehouse_url or postgres.url(data, database=WAREHOUSE_DATABASE)
    if as_json:
        say_json({"url": url})
    else:
        say(url)
    return EXIT_DONE
