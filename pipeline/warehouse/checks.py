"""Rows that must not exist: every query of sql/checks finds one kind of fault, and nothing on good data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

CHECKS = Path(__file__).resolve().parents[2] / "sql" / "checks"
MOST_ROWS = 100  # of one check: enough to see what it is


@dataclass(frozen=True, slots=True)
class Fault:
    """What one check found."""

    check: str
    meaning: str  # first line of its file
    rows: tuple[str, ...]  # at most 100: their columns as words


def check_files() -> list[Path]:
    """Return the files, one a check."""
    return sorted(CHECKS.glob("*.sql"))


def statements() -> dict[str, str]:
    """Return the query of each check by its name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in check_files()}


def find_faults(engine: Engine) -> list[Fault]:
    """Run every check in one snapshot and return those that found rows; changes nothing."""
    found = []
    with engine.connect() as connection:
        for name, statement in statements().items():
            rows = connection.execute(text(statement)).mappings().fetchmany(MOST_ROWS)
            if rows:
                found.append(fault_of(name, statement, rows))
    return found


def fault_of(check: str, statement: str, rows: Iterable[Mapping[Any, Any]]) -> Fault:
    """Return what a check found, in words."""
    words = tuple(", ".join(f"{name} {value}" for name, value in row.items()) for row in rows)
    return Fault(check, statement.partition("\n")[0].removeprefix("-- "), words)
