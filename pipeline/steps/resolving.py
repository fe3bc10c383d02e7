"""The releases that a matrix names -> releases that exist, asked when a sweep is planned and stored with it."""

from collections.abc import Mapping

from pipeline.engines.versions import resolve_versions
from pipeline.matrix.schema import EngineEntry, MatrixFile
from pipeline.serve.external import ask_version

Resolved = Mapping[str, tuple[str, ...]]  # `last 5 (cpu)` -> the releases


def resolve_engines(matrix: MatrixFile, *, known: Resolved) -> tuple[MatrixFile, dict[str, tuple[str, ...]]]:
    """Return `matrix` with one engine a release, oldest first, and what became of each entry that named them otherwise.

    `known` holds what an earlier plan of the same sweep resolved: it is used again, so that a sweep never changes its
    releases. Raises UserError for text that names no release; EnvironmentFault when they cannot be asked.
    """
    engines: dict[tuple[str | None, str, bool], EngineEntry] = {}
    resolved: dict[str, tuple[str, ...]] = {}
    for entry in matrix.engines:
        versions = _versions(entry, known=known)
        if versions != (entry.version,):
            resolved[spec_of(entry)] = versions
        for version in versions:
            concrete = entry.model_copy(update={"version": version})
            engines.setdefault((version, entry.platform, bool(entry.external)), concrete)
    return matrix.model_copy(update={"engines": list(engines.values())}), resolved


def spec_of(entry: EngineEntry) -> str:
    """Return what the matrix says, as it is stored: `>=0.27,<0.33 (cpu)`."""
    return f"{'external' if entry.external else entry.version} ({entry.platform})"


def _versions(entry: EngineEntry, *, known: Resolved) -> tuple[str, ...]:
    if spec_of(entry) in known:
        return tuple(known[spec_of(entry)])
    if entry.external:
        return (ask_version(entry.external),)
    return resolve_versions(entry.version or "", platform=entry.platform)
