"""Run the suites on a staged load and say what did not hold, by cell where the rows name one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pipeline.domain.block import Block
from pipeline.domain.validation import ValidationOutcome
from pipeline.errors import SpecwatchError
from pipeline.validate import planned, suites
from pipeline.validate.source import quiet, warehouse_source

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.datasource.fluent.interfaces import Batch
    from great_expectations.datasource.fluent.postgres_datasource import PostgresDatasource
    from great_expectations.expectations.expectation import Expectation
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

EXAMPLES = 3  # failing rows kept with a result
MOST_ROWS = 200  # Great Expectations returns no more failing rows than this
RESULT_FORMAT = {
    "result_format": "COMPLETE",
    "unexpected_index_column_names": ["cell_id"],
    "partial_unexpected_count": MOST_ROWS,
}


def run(url: str, load_id: str, *, block: Block) -> list[ValidationOutcome]:
    """Return one outcome an expectation for the staged rows of `load_id`, compared with the plan `block`.

    Takes 6-10 s the first time in a process: that is the import. Writes nothing, to the database or to disk. Raises
    EnvironmentFault when the database cannot be reached.
    """
    with quiet(), warehouse_source(url) as datasource:
        tables: tuple[tuple[str, str, list[Expectation]], ...] = (
            (
                "measurement",
                planned.measurements(block, load_id=load_id),
                suites.measurement_suite(block, load_id=load_id),
            ),
            ("request", planned.requests(block, load_id=load_id), suites.request_suite()),
            ("acceptance_position", planned.positions(block, load_id=load_id), suites.position_suite()),
        )
        return [
            outcome
            for name, query, expectations in tables
            for outcome in _validate(datasource, name, query, expectations)
        ]


def _validate(
    datasource: "PostgresDatasource", name: str, query: str, expectations: "list[Expectation]"
) -> list[ValidationOutcome]:
    """Ask first only what does not hold: one query for most of a suite; then, of that alone, in which rows."""
    from great_expectations import ExpectationSuite

    batch = datasource.add_query_asset(name, query=query).add_batch_definition(name).get_batch()
    by_name = {_name(expectation.meta): expectation for expectation in expectations}
    held = _results(batch, ExpectationSuite(name, expectations=expectations), result_format="BOOLEAN_ONLY")
    broken = [by_name[key] for key, result in held.items() if not result.success]
    if broken:
        held |= _results(batch, ExpectationSuite(f"{name} broken", expectations=broken), result_format=RESULT_FORMAT)
    return [_outcome(batch, by_name[key], result) for key, result in held.items()]


def _results(
    batch: "Batch", suite: "ExpectationSuite", *, result_format: "str | dict[str, Any]"
) -> "dict[tuple[str, str], ExpectationValidationResult]":
    """Return the results by the names of their expectations. Raises SpecwatchError when one could not be evaluated."""
    found = batch.validate(suite, result_format=result_format).results  # type: ignore[arg-type]  # takes text, too
    for result in found:
        if result.exception_info and result.exception_info.get("raised_exception"):
            name, subject = _name(_config(result).meta)
            message = f"{name} on {subject} could not be evaluated: {result.exception_info}"
            raise SpecwatchError(message)
    return {_name(_config(result).meta): result for result in found}


def _outcome(batch: "Batch", expectation: "Expectation", result: "ExpectationValidationResult") -> ValidationOutcome:
    config = _config(result)
    meta: Mapping[str, Any] = config.meta or {}
    rows = _failing_rows(result.result)
    success = bool(result.success)
    return ValidationOutcome(
        expectation=str(meta["name"]),
        subject=str(meta["subject"]),
        severity="warning" if str(config.severity).rpartition(".")[2].lower() == "warning" else "critical",
        success=success,
        observed={
            "failing": _count(result.result),
            "examples": [{name: _plain(value) for name, value in row.items()} for row in rows[:EXAMPLES]],
        },
        cell_ids=() if success else _cells(batch, expectation, result),
        details=None if success else _details(meta, rows, _count(result.result)),
    )


def _cells(batch: "Batch", expectation: "Expectation", result: "ExpectationValidationResult") -> tuple[str, ...]:
    """Return every cell with a failing row; none when they cannot all be named: then the load is at fault.

    A result holds some failing rows only, so the rest is asked for without the cells already known.
    """
    from great_expectations.expectations.row_conditions import Column

    cells: set[str] = set()
    found = result.result
    while True:
        rows = _failing_rows(found)
        named = {str(row["cell_id"]) for row in rows if row.get("cell_id")}
        if not named - cells:
            return ()
        cells |= named
        if _is_custom(found):
            return tuple(sorted(cells)) if len(rows) < MOST_ROWS else ()
        if _count(found) <= len(rows):
            return tuple(sorted(cells))
        rest = expectation.copy(update={"row_condition": Column("cell_id").is_not_in(sorted(cells))})
        again = batch.validate(rest, result_format=RESULT_FORMAT)
        if again.success:
            return tuple(sorted(cells))
        found = again.result


def _failing_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    if _is_custom(found):
        return list(found["details"]["unexpected_rows"])
    return list(found.get("unexpected_index_list") or [])


def _is_custom(found: Mapping[str, Any]) -> bool:
    """Whether this is the result of a query of ours, which returns one row a cell."""
    return "unexpected_rows" in (found.get("details") or {})


def _count(found: Mapping[str, Any]) -> int:
    """Return how many staged rows fail."""
    if _is_custom(found):
        return sum(int(row["rows"]) for row in _failing_rows(found))
    return int(found.get("unexpected_count") or 0)


def _config(result: "ExpectationValidationResult") -> "ExpectationConfiguration":
    config = result.expectation_config
    assert config is not None  # noqa: S101 - Great Expectations fills it for every result of a suite
    return config


def _name(meta: Mapping[str, Any] | None) -> tuple[str, str]:
    return str((meta or {})["name"]), str((meta or {})["subject"])


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _details(meta: Mapping[str, Any], rows: list[dict[str, Any]], failing: int) -> str:
    column = str(meta["subject"]).rpartition(".")[2]
    values = sorted({str(row[column]) for row in rows if row.get(column) is not None})[:EXAMPLES]
    seen = f"; {column}: {', '.join(values)}" if values else ""
    return f"{meta['details']} ({failing} rows{seen})"
