"""`specwatch export`: the warehouse's tables and views as Parquet, CSV or JSON lines."""

import re
import sys
from pathlib import Path
from typing import Any

from pipeline.cli.output import progress_bar, say, say_json, table
from pipeline.errors import EXIT_DONE, UserError

ENDINGS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_BETWEEN = re.compile(r",(?=\w+=)")  # a label may hold commas


def run(arguments: Any) -> int:
    """List what there is, or export one thing, or all of them."""
    if arguments.list:
        return _list(as_json=arguments.json)
    if (arguments.name is None) == (arguments.all is None):
        message = "specwatch export takes a NAME, or --all DIRECTORY; specwatch export --list shows the names."
        raise UserError(message)
    if arguments.all is not None:
        return _all(arguments)
    return _one(arguments)


def _list(*, as_json: bool) -> int:
    from pipeline.steps.exporting import exportables

    found = exportables()
    if as_json:
        say_json(found)
    else:
        table(("name", "kind", "what a row is"), [(f["name"], f["kind"], _first_line(f["comment"])) for f in found])
    return EXIT_DONE


def _all(arguments: Any) -> int:
    from pipeline.steps.exporting import export_all

    if arguments.where or arguments.output:
        message = "--all writes whole tables and views into its directory: --where and -o go with a NAME."
        raise UserError(message)
    with progress_bar("rows") as (progress, _):
        done = export_all(Path(arguments.all), form=arguments.format or "parquet", progress=progress)
    if arguments.json:
        say_json(done)
    else:
        for one in done:
            say(f"{one['rows']} rows: {one['file']}")
    return EXIT_DONE


def _one(arguments: Any) -> int:
    from pipeline.steps.exporting import export_one

    where = where_of(arguments.where or [])
    path = None if arguments.output in (None, "-") else Path(arguments.output)
    form = form_of(arguments.format, path, as_json=arguments.json)
    if path is None:
        if form == "parquet" and sys.stdout.isatty():
            message = f"Parquet is not for a terminal: add -o {arguments.name}.parquet, or --format csv."
            raise UserError(message)
        export_one(arguments.name, to=sys.stdout.buffer, form=form, where=where)
        sys.stdout.flush()
        return EXIT_DONE
    with progress_bar("rows") as (progress, _):
        done = export_one(arguments.name, to=path, form=form, where=where, progress=progress)
    if arguments.json:
        say_json(done)
    else:
        say(f"{done['rows']} rows: {done['file']}")
    return EXIT_DONE


def form_of(chosen: str | None, path: Path | None, *, as_json: bool) -> Any:
    """Return the format: the one chosen, or what the file's ending says; on standard output JSON if asked, else CSV."""
    if chosen:
        return chosen
    if path is not None:
        if found := ENDINGS.get(path.suffix.lower()):
            return found
        message = f"{path} does not say its format: add --format parquet, csv or json."
        raise UserError(message)
    return "json" if as_json else "csv"


def where_of(pairs: list[str]) -> dict[str, list[str]]:
    """Read `sweep=ID,version=V`: a key twice means either value. Raises UserError for what is no pair."""
    where: dict[str, list[str]] = {}
    for pair in (part for text in pairs for part in _BETWEEN.split(text)):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            message = f"--where {pair!r} is no KEY=VALUE: write --where sweep=ID, or version=0.25.1."
            raise UserError(message)
        where.setdefault(key.strip(), []).append(value)
    return where


def _first_line(comment: str) -> str:
    return comment.partition("\n")[0]
