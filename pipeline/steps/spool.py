"""Request rows on their way from the run directory to the warehouse: on disk, so that a night need not fit in memory.

A run directory is read once; its measurements and outcomes are needed before its requests are copied.
"""

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path

import orjson

from pipeline.domain.measurement import RepetitionKey
from pipeline.domain.request import RequestRow
from pipeline.errors import EnvironmentFault

_values = attrgetter(*(field.name for field in fields(RequestRow)))


class Spool:
    """Rows by repetition, in a file without a name: it goes with the object, or with the process."""

    def __init__(self) -> None:
        descriptor, path = tempfile.mkstemp(prefix="specwatch-rows-")
        Path(path).unlink()
        self._file = os.fdopen(descriptor, "w+b", closefd=False)
        self._where: list[tuple[RepetitionKey, int, int]] = []
        self._end = 0
        weakref.finalize(self, os.close, descriptor)

    def add(self, key: RepetitionKey, rows: Sequence[RequestRow]) -> None:
        """Keep the rows of one repetition. Raises EnvironmentFault when the disk is full."""
        content = orjson.dumps([_values(row) for row in rows])
        try:
            self._file.seek(self._end)
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            message = f"{tempfile.gettempdir()} takes no more: free space there, or point TMPDIR elsewhere."
            raise EnvironmentFault(message) from error
        self._where.append((key, self._end, len(content)))
        self._end += len(content)

    def rows(self, *, without: frozenset[tuple[int, str]] = frozenset()) -> Iterator[tuple[RepetitionKey, RequestRow]]:
        """Yield what was added, in order, but that of the (start, cell) in `without`."""
        for key, offset, size in self._where:
            if (key.start_index, key.cell_id) not in without:
                self._file.seek(offset)
                for values in orjson.loads(self._file.read(size)):
                    yield key, RequestRow(*values)
