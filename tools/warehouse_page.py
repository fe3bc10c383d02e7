"""docs/warehouse.md: the data dictionary, from the comments of tables and views, and the queries of docs/queries."""

import re
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Table
from sqlalchemy.engine import make_url

from pipeline.settings import REPOSITORY
from pipeline.warehouse.comments import meaning_of
from pipeline.warehouse.migrate import view_files
from pipeline.warehouse.tables import METADATA
from pipeline.warehouse.tables.metadata import SCHEMA

QUERIES = REPOSITORY / "docs" / "queries"
HEAD = """\
# The warehouse, for those who ask it

Made by `make docs` from the comments in the database (`pipeline/warehouse/tables`, `sql/views`) and from
`docs/queries`; change those, not this page. The same comments are in Postgres: `\\d+ warehouse.latest_verdicts`.

Ask the views: one row of a view is one thing, which its first sentence names, and no view mixes machines, real and
dummy weights, or real and synthetic acceptance: keep `hardware_id`, `weights` and `acceptance` in your own `group by`,
too. NULL is "not measured", never 0. Instants have a time zone. A speedup is > 1 when speculation is better.

| role | may |
|---|---|
| `specwatch_reader` | read views, dimensions (`engine` to `cell`, `sweep`) and remarks; no request |
| `specwatch_annotator` | the same, and add annotations and quarantine decisions under its own name |
| `specwatch_writer` | load and analyze |
| `specwatch_owner` | migrate, restore, drop what is past its time |

`specwatch db roles` makes them, or prints the SQL that does. `specwatch db check` looks for rows that must not exist
(`sql/checks`).
"""
_DIALECT = make_url("postgresql+psycopg://").get_dialect()()
_COMMENT = re.compile(r"^comment on view warehouse\.(\w+) is\s+'(.*)';$", re.DOTALL | re.MULTILINE)
_SELECT = re.compile(r"^select(?: distinct)?\n(.*?)^from ", re.DOTALL | re.MULTILINE)


def render() -> str:
    """Return the page."""
    tables = [table for table in METADATA.sorted_tables if table.schema == SCHEMA]
    return "\n".join((HEAD, *_queries(), *_views(), *map(_table, sorted(tables, key=lambda table: table.name))))


def columns_of(view: Path) -> list[str]:
    """Return the columns of a view as its file names them: the last select that begins a line."""
    *_, last = _SELECT.finditer(view.read_text(encoding="utf-8"))
    return [re.split(r"\s+as\s+|\.|\s", entry.strip())[-1] for entry in _entries(last.group(1)) if entry.strip()]


def _entries(text: str) -> Iterator[str]:
    """Split at commas that are in no parentheses."""
    depth, begin = 0, 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def _queries() -> Iterator[str]:
    yield "## Ten questions\n"
    for path in sorted(QUERIES.glob("*.sql")):
        first, _, statement = path.read_text(encoding="utf-8").partition("\n")
        yield f"**{first.removeprefix('-- ')}**\n\n```sql\n{statement.strip()}\n```\n"


def _views() -> Iterator[str]:
    yield "## Views\n"
    for path in view_files():
        text = path.read_text(encoding="utf-8")
        found = _COMMENT.search(text)
        if found is None:
            message = f"{path.name} has no comment on its view"
            raise ValueError(message)
        name, comment = found.group(1), found.group(2).replace("''", "'")
        question = text.partition("\n")[0].removeprefix("-- ")
        rows = "".join(f"| `{column}` | {_cell(meaning_of(name, column))} |\n" for column in columns_of(path))
        yield f"### {name}\n\n{question} {comment}\n\n| column | meaning |\n|---|---|\n{rows}"
    yield "## Tables\n"


def _table(table: Table) -> str:
    key = ", ".join(f"`{column.name}`" for column in table.primary_key.columns)
    rows = "".join(
        f"| `{column.name}` | {column.type.compile(_DIALECT).lower()} | {_cell(column.comment)} |\n"
        for column in table.columns
    )
    return f"### {table.name}\n\n{table.comment} Key: {key}.\n\n| column | type | meaning |\n|---|---|---|\n{rows}"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")
