"""The prompt sets that a matrix asks for: ours, and public ones read where they lie."""

from pathlib import Path

from pipeline.domain.workload import PromptSource, Workload
from pipeline.matrix.fit import Sets, sets_of
from pipeline.matrix.schema import MatrixFile
from pipeline.settings import Settings
from pipeline.workloads.hub import fetch
from pipeline.workloads.public import read_public
from pipeline.workloads.sets import LENGTHS, prompt_set


def prompt_sets(matrix: MatrixFile, *, settings: Settings) -> Sets:
    """Return every prompt set of `matrix`, by name and nominal length, in its order.

    Raises FactorMisfit for a length that a set does not come in, UserError or EnvironmentFault for a public set that
    cannot be read or fetched.
    """
    return {
        (entry.name, nominal): prompt_set(entry.name, nominal)
        if (source := entry.source()) is None
        else _public(source, settings=settings)
        for entry, nominal in sets_of(matrix, lengths=LENGTHS)
    }


def _public(source: PromptSource, *, settings: Settings) -> Workload:
    if source.path is not None:
        return read_public(source, path=Path(source.path))
    path, commit = fetch(source, cache=settings.home / "prompt-sets")
    return read_public(source, path=path, revision=commit)
