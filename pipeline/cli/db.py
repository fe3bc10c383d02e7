"""`specwatch db`: the warehouse itself."""

from pathlib import Path
from typing import Any

from pipeline.cli.output import say, say_json, table, tell
from pipeline.errors import EXIT_DONE, EXIT_ENVIRONMENT, EXIT_GATE, UserError
from pipeline.settings import Settings, load_settings


def run(arguments: Any) -> int:
    """Start, stop, migrate, print the address, back up, restore, or drop what is past its time."""
    settings = load_settings()
    actions = {
        "down": lambda: _down(settings),
        "url": lambda: _url(settings, as_json=arguments.json),
        "backup": lambda: _backup(arguments),
        "restore": lambda: _restore(arguments),
        "roles": lambda: _roles(settings, arguments),
        "check": lambda: _check(settings, as_json=arguments.json),
        "retention": lambda: _retention(arguments),
    }
    return actions.get(arguments.action, lambda: _up(settings))()


def _up(settings: Settings) -> int:
    from pipeline.steps.warehousing import migrate_warehouse, warehouse_url

    url = warehouse_url(settings)
    migrate_warehouse(url)
    tell("the warehouse is up and at this release's schema")
    return EXIT_DONE


def _backup(arguments: Any) -> int:
    from pipeline.steps.backing_up import backup_warehouse

    done = backup_warehouse(Path(arguments.file) if arguments.file else None, report=tell)
    if arguments.json:
        say_json(done)
    else:
        say(f"{sum(t['rows'] for t in done['tables'])} rows of {len(done['tables'])} tables: {done['file']}")
    return EXIT_DONE


def _restore(arguments: Any) -> int:
    from pipeline.steps.backing_up import restore_warehouse

    done = restore_warehouse(Path(arguments.file), into=arguments.into, replace=arguments.replace, report=tell)
    if arguments.json:
        say_json(done)
        return EXIT_DONE
    table(("table", "rows", "checksum"), [(t["table"], t["rows"], t["checksum"]) for t in done["tables"]])
    say(f"database {done['database']} holds what was backed up at {done['made_at']}: every count and checksum agrees")
    return EXIT_DONE


def _roles(settings: Settings, arguments: Any) -> int:
    from pipeline.steps.warehousing import make_roles

    password = None
    if arguments.login:
        password = _password(arguments.password_file)
    refused = make_roles(settings, login=arguments.login, password=password)
    if refused is not None:
        tell(f"this login may not make roles ({refused.why}): let one who may run what follows, in this database")
        say(refused.script)
        return EXIT_ENVIRONMENT
    tell("the roles specwatch_owner, _writer, _reader and _annotator are there")
    return EXIT_DONE


def _password(file: str | None) -> str:
    if file is None:
        message = "--login needs --password-file: a password on a command line is read by everybody on the machine."
        raise UserError(message)
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        message = f"--password-file {file} cannot be read: {error.strerror}."
        raise UserError(message) from error


def _check(settings: Settings, *, as_json: bool) -> int:
    from pipeline.steps.warehousing import check_warehouse

    found = check_warehouse(settings)
    if as_json:
        say_json({fault.check: {"meaning": fault.meaning, "rows": list(fault.rows)} for fault in found})
    elif found:
        table(
            ("check", "rows", "what it is", "the first"),
            [(fault.check, len(fault.rows), fault.meaning, fault.rows[0]) for fault in found],
        )
    else:
        say("no row that must not be there")
    return EXIT_GATE if found else EXIT_DONE


def _retention(arguments: Any) -> int:
    from pipeline.steps.retaining import retain

    done = retain(requests_days=arguments.requests_days, dry_run=arguments.dry_run, report=tell)
    if arguments.json:
        say_json(done)
        return EXIT_DONE
    would = "would go" if done["dry_run"] else "gone"
    say(f"{would}: {done['requests']} requests in {len(done['months'])} whole months")
    for month in done["months"]:
        say(f"  the month before {month['until']}: {month['requests']} requests")
    say(f"{would}: {done['undecided_loads']} loads that nobody decided, {done['staged_rows']} rows left in staging")
    say(f"{would}: {done['replaced_loads']} loads that later ones replaced")
    say("kept: every measurement, speedup and verdict; requests of a month that is only partly past its time")
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
