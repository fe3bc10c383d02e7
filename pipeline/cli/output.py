"""What a person or a script reads: lines, tables, JSON, progress."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pipeline.logs import log

T = TypeVar("T")
Report = Callable[[str], None]
Progress = Callable[[int, int, str], None]

_BAR_TEXT = 60  # characters of what runs, beside the bar


def say(text: str = "") -> None:
    """Print a line of the answer to standard output."""
    print(text, flush=True)  # noqa: T201 - the command line prints


def tell(text: str) -> None:
    """Log a line about what is going on."""
    log.info(text)


def say_json(value: object) -> None:
    """Print `value` as JSON to standard output."""
    say(json.dumps(value, indent=2, default=str))


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "") -> None:
    """Print a table; cells are shown as text, None as a dash."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    shown = Table(*columns, title=title or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        shown.add_row(*("-" if cell is None else str(cell) for cell in row))
    console = Console(soft_wrap=False, width=None if sys.stdout.isatty() else 160)
    console.print(shown)


@contextmanager
def progress_bar(unit: str) -> Iterator[tuple[Progress | None, Report]]:
    """Show a bar on a terminal while something takes its time; elsewhere only lines.

    Yields what to report progress with (None where nobody looks) and what to report lines with. Until there is
    progress the bar moves without an end; it always names the last thing that was reported.
    """
    if not sys.stderr.isatty():
        yield None, tell
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=None)

        def progress(done: int, planned: int, what: str) -> None:
            bar.update(task, completed=done, total=planned, description=escape(what[:_BAR_TEXT]))

        def report(text: str) -> None:
            tell(text)  # the bar takes the place of standard error, so that lines appear above it
            bar.update(task, description=escape(text.strip()[:_BAR_TEXT]))

        yield progress, report


def counted(items: Sequence[T], *, progress: Progress | None, name: Callable[[T], str]) -> Iterator[T]:
    """Yield each item; what was done with it counts as one of all of them."""
    for number, item in enumerate(items, start=1):
        yield item
        if progress:
            progress(number, len(items), name(item))


def chosen(arguments: Any) -> dict[str, Any]:
    """Return the overrides that a person gave as flags."""
    from pipeline.matrix.select import SELECTORS

    return {name: getattr(arguments, name) for name in SELECTORS if getattr(arguments, name) is not None}


def ratio(value: float | None, lower: float | None = None, upper: float | None = None) -> str | None:
    """Return `1.62x [1.31, 2.01]`."""
    if value is None:
        return None
    return f"{value:.2f}x" + (f" [{lower:.2f}, {upper:.2f}]" if lower is not None and upper is not None else "")


def share(value: float | None) -> str | None:
    """Return `55%`."""
    return None if value is None else f"{value:.0%}"


def duration(seconds: float) -> str:
    """Return `1 h 05 min`, `3 min` or `12 s`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
