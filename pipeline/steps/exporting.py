"""Warehouse -> files: whole ones or none."""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.errors import EnvironmentFault
from pipeline.settings import load_settings
from pipeline.steps.warehousing import open_migrated
from pipeline.warehouse import export as warehouse_export
from pipeline.warehouse.export import Where
from pipeline.warehouse.export_formats import Format

Progress = Callable[[int, int, str], None]  # rows written, rows expected, what


def exportables() -> list[dict[str, str]]:
    """Return name, kind and comment of everything that can be exported."""
    engine, _ = open_migrated(load_settings())
    return [
        {"name": thing.name, "kind": thing.kind, "comment": thing.comment}
        for thing in warehouse_export.exportables(engine)
    ]


def export_one(
    name: str, *, to: Path | BinaryIO, form: Format, where: Where, progress: Progress | None = None
) -> dict[str, Any]:
    """Export one table or view to a file, atomically, or to an open stream; return {"name", "rows", "file"}."""
    engine, _ = open_migrated(load_settings())
    path = to if isinstance(to, Path) else None
    with whole_file(to) if isinstance(to, Path) else contextlib.nullcontext(to) as sink:
        rows = warehouse_export.export(engine, name, sink, form=form, where=where, progress=_named(name, progress))
    return {"name": name, "rows": rows, "file": None if path is None else str(path)}


def export_all(directory: Path, *, form: Format, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Export everything that can be read to DIRECTORY/NAME.FORMAT, all of one moment; return what `export_one` does."""
    engine, _ = open_migrated(load_settings())
    paths: dict[str, Path] = {}

    def sink_of(name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        paths[name] = directory / f"{name}.{form}"
        return whole_file(paths[name])

    rows = warehouse_export.export_all(engine, sink_of, form=form, progress=lambda name: _named(name, progress))
    return [{"name": name, "rows": rows[name], "file": str(path)} for name, path in paths.items()]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `path` when the block ends well, and leaves nothing when it does not.

    Raises EnvironmentFault when the disk does not take it.
    """
    with whole_path(path) as temporary, temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """The same for a program that opens the file itself: yield where to write."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        message = f"{path} could not be written: {error.strerror or error}. Nothing was left there."
        raise EnvironmentFault(message) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _named(name: str, progress: Progress | None) -> Callable[[int, int], None]:
    return lambda rows, expected: progress(rows, expected, name) if progress else None
