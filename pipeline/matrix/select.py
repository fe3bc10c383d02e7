"""Narrow or change a matrix from a form or from flags: what `adhoc_matrix` and `specwatch bench` accept."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from pipeline.domain.method import BASELINE
from pipeline.errors import UserError
from pipeline.matrix.schema import MatrixFile

SELECTORS = (
    *("methods", "workloads", "concurrencies", "arrivals", "engine_versions", "repetitions"),
    *("prompt_tokens", "output_tokens", "temperatures"),
)
_REPLACED = {"prompt_tokens": "prompt_tokens", "output_tokens": "output_tokens", "temperatures": "temperature"}


def select(matrix: MatrixFile, overrides: Mapping[str, Any]) -> MatrixFile:
    """Return `matrix` with `overrides` applied; an absent, None or empty one leaves the matrix as it is.

    `methods` and `workloads` choose by name among those of the matrix; the others replace. `concurrencies` and
    `arrivals` (such as `poisson:4`, requests/s) are the whole load, if one of them is told; `engine_versions` are on
    the platform of the matrix's first engine. Raises UserError.
    """
    chosen = {key: value for key, value in overrides.items() if value not in (None, [], ())}
    for key in chosen:
        if key not in SELECTORS:
            message = f"unknown override {key!r}; known are {', '.join(SELECTORS)}"
            raise UserError(message)
    document = matrix.model_dump() | _changes(matrix, chosen)
    try:
        return MatrixFile.model_validate(document)
    except ValidationError as error:
        said = "; ".join(
            f"{'.'.join(str(part) for part in e['loc'])}: {e['msg'].removeprefix('Value error, ')}".lstrip(": ")
            for e in error.errors(include_url=False)
        )
        message = f"matrix {matrix.name} with these parameters cannot be measured: {said}"
        raise UserError(message) from error


def _changes(matrix: MatrixFile, chosen: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if "methods" in chosen:
        wanted = _pick(chosen["methods"], [entry.arm for entry in matrix.methods], what="method")
        changes["methods"] = [e.model_dump() for e in matrix.methods if e.arm in wanted or e.method == BASELINE]
    if "workloads" in chosen:
        wanted = _pick(chosen["workloads"], [entry.name for entry in matrix.workloads], what="workload")
        changes["workloads"] = [e.model_dump() for e in matrix.workloads if e.name in wanted]
    if {"concurrencies", "arrivals"} & chosen.keys():
        changes["concurrency"] = [int(value) for value in chosen.get("concurrencies", ())]
        changes["arrivals"] = [_arrival(text) for text in chosen.get("arrivals", ())]
    changes |= {key: _values(chosen[name]) for name, key in _REPLACED.items() if name in chosen}
    if "repetitions" in chosen:
        changes["repetitions"] = int(chosen["repetitions"])
    if "engine_versions" in chosen:
        changes["engines"] = _engines(matrix, chosen["engine_versions"])
    return changes


def _arrival(text: str) -> dict[str, Any]:
    process, _, rate = text.partition(":")
    try:
        return {"process": process, "rate_per_s": float(rate)}
    except ValueError:
        message = f"{text!r} is no arrival process: write it with its rate in requests/s, such as poisson:4 or fixed:2"
        raise UserError(message) from None


def _values(given: Sequence[Any]) -> list[Any]:
    """Numbers come as text from the command line and from a form; `stated` stays a word."""
    return [_number(value) if isinstance(value, str) else value for value in given]


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _engines(matrix: MatrixFile, versions: Sequence[str]) -> list[dict[str, Any]]:
    known = {entry.version: entry for entry in matrix.engines}
    platform = matrix.engines[0].platform
    return [
        known[v].model_dump() if v in known else {"version": v, "platform": platform, "python": None} for v in versions
    ]


def _pick(wanted: Sequence[str], known: Sequence[str], *, what: str) -> list[str]:
    for name in wanted:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else f"the matrix has {', '.join(known)}"
            message = f"unknown {what} {name!r}; {hint}"
            raise UserError(message)
    return [name for name in known if name in wanted]
