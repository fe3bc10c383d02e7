"""YAML text -> MatrixFile. Every complaint names the file, the line, the key and the nearest key that exists."""

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from pipeline.domain.versions import Upgrades, VersionRefused, brought_up_to
from pipeline.errors import UserError
from pipeline.matrix.factors import ArrivalEntry
from pipeline.matrix.fit import FactorMisfit
from pipeline.matrix.schema import (
    MATRIX_VERSION,
    EngineEntry,
    HardwareEntry,
    MatrixFile,
    MethodEntry,
    ModelEntry,
    ServerEntry,
    SloEntry,
)
from pipeline.matrix.workload_entry import FieldsEntry, WorkloadEntry

UPGRADES: Upgrades = {}  # version of the file -> the step to the next one; there has been one version so far

_ENTRIES: dict[str, type[BaseModel]] = {
    "engines": EngineEntry,
    "targets": ModelEntry,
    "drafts": ModelEntry,
    "methods": MethodEntry,
    "server": ServerEntry,
    "hardware": HardwareEntry,
    "workloads": WorkloadEntry,
    "arrivals": ArrivalEntry,
    "slo": SloEntry,
}


def load_matrix(path: Path, *, workloads: Collection[str]) -> MatrixFile:
    """Read and check the matrix at `path`; `workloads` are the names a matrix may use.

    Raises UserError with every problem found, one a line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        near = sorted(str(p) for p in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        hint = f" There are: {', '.join(near)}." if near else ""
        message = f"matrix {path} cannot be read: {error.strerror}.{hint}"
        raise UserError(message) from error
    return parse_matrix(text, name=str(path), base=path.resolve().parent, workloads=workloads)


def parse_matrix(text: str, *, name: str, base: Path, workloads: Collection[str]) -> MatrixFile:
    """Check matrix `text`; `name` stands in messages, relative paths start at `base`."""
    tree = _tree(text, name=name)
    try:
        document = brought_up_to(_plain(tree), current=MATRIX_VERSION, upgrades=UPGRADES, key="version", name=name)
        matrix = MatrixFile.model_validate(document)
    except VersionRefused as error:
        raise UserError(str(error)) from error
    except ValidationError as error:
        problems = [_problem(e, tree=tree, name=name) for e in error.errors(include_url=False)]
        raise UserError("\n".join(problems)) from error
    for index, entry in enumerate(matrix.workloads):
        if (entry.format is None) == (entry.name in workloads):
            continue
        line = _line(tree, ("workloads", index))
        message = f"{name}:{line}: workload {entry.name!r} is one of ours: give the loaded one another name"
        if entry.format is None:
            message = f"{name}:{line}: unknown workload {entry.name!r}{_nearest(entry.name, workloads)}"
        raise UserError(message)
    return matrix.resolve_paths(base)


def refused(misfit: FactorMisfit, *, path: Path) -> UserError:
    """Return the error for a misfit of the matrix at `path` with its prompt sets: it names the line."""
    line = _line(_tree(path.read_text(encoding="utf-8"), name=str(path)), misfit.location)
    return UserError(f"{path}:{line}: {'.'.join(map(str, misfit.location))}: {misfit}")


def _tree(text: str, *, name: str) -> CommentedMap:
    try:
        tree = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        message = f"{name}:{line}: not YAML: {error.problem or error.context}"
        raise UserError(message) from error
    except YAMLError as error:
        message = f"{name}: not YAML: {error}"
        raise UserError(message) from error
    if not isinstance(tree, CommentedMap):
        message = f"{name}:1: a matrix is a mapping of keys (version, name, engines, ...), this is not"
        raise UserError(message)
    return tree


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    for kind in (bool, int, float, str):  # ruamel's scalars are subclasses that keep their spelling
        if isinstance(node, kind):
            return kind(node)
    return node


def _problem(error: ErrorDetails, *, tree: CommentedMap, name: str) -> str:
    location = _as_written(tuple(error["loc"]), tree)
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, FactorMisfit):
        location = cause.location
    where = f"{name}:{_line(tree, location)}: "
    dotted = ".".join(str(part) for part in location)
    if error["type"] == "extra_forbidden":
        key = str(location[-1])
        return f"{where}unknown key {key!r}{_nearest(key, _keys_beside(location))}"
    if error["type"] == "missing":
        return f"{where}key {str(location[-1])!r} is missing"
    said = error["msg"].removeprefix("Value error, ")
    if error["type"] == "string_type" and location[-1] == "version":
        said = f"write the version in quotes, such as '0.32.0' (YAML read {error['input']!r} as a number)"
    return f"{where}{dotted}: {said}" if dotted else f"{where}{said}"


def _as_written(location: tuple[int | str, ...], tree: CommentedMap) -> tuple[int | str, ...]:
    """Leave out the 0 of a list that was written as one value."""
    written = len(location) == 2 and location[1] == 0 and not isinstance(tree.get(location[0]), list)
    return location[:1] if written else location


def _keys_beside(location: Sequence[int | str]) -> list[str]:
    entry = _ENTRIES.get(str(location[0]), MatrixFile) if len(location) > 1 else MatrixFile
    if "fields" in location[:-1]:
        entry = FieldsEntry
    return list(entry.model_fields)


def _nearest(word: str, known: Collection[str]) -> str:
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names)}"


def _line(tree: Any, location: Sequence[int | str]) -> int:
    """Return the 1-based line of the deepest part of `location` that the text holds."""
    line, node = 0, tree
    for part in location:
        position = None
        if isinstance(node, CommentedMap) and part in node:
            position = node.lc.key(part)
        elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
            position = node.lc.item(part)
        if position is None:
            break
        line = position[0]
        node = node[part]
    return line + 1
