"""Rows that must not exist: every query of sql/checks finds one kind of fault, and nothing on good data."""

from dataclasses import dataclass
from pathlib import Path

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


def find_faults(engine: Engine) -> list[Fault]:
    """Run every check in one snapshot and return those that found rows; changes nothing."""
    found = []
    with engine.connect() as connection:
        for path in check_files():
            statement = path.read_text(encoding="utf-8")
            rows = connection.execute(text(statement)).mappings().fetchmany(MOST_ROWS)
            if rows:
                words = tuple(", ".join(f"{name} {value}" for name, value in row.items()) for row in rows)
                found.append(Fault(path.stem, statement.partition("\n")[0].removeprefix("-- "), words))
    return found
