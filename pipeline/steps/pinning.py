"""Releases that the repository's matrices name by number: the references that are never pruned."""

from collections.abc import Callable
from pathlib import Path

from pipeline.domain.engine import version_kind
from pipeline.errors import UserError
from pipeline.matrix.load import load_matrix
from pipeline.settings import REPOSITORY
from pipeline.workloads.sets import LENGTHS


def pinned_versions(*, report: Callable[[str], None], folder: Path = REPOSITORY / "matrices") -> set[str]:
    """Return them; a matrix that cannot be read is reported and pins nothing."""
    pinned: set[str] = set()
    for path in sorted(folder.glob("*.yaml")):
        try:
            engines = load_matrix(path, workloads=LENGTHS).engines
        except UserError as error:
            report(f"{path.name} pins no engine: {error}")
            continue
        pinned |= {entry.version for entry in engines if entry.version and version_kind(entry.version) == "release"}
    return pinned
