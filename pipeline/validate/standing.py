"""What must hold of the warehouse as a whole, as expectations: every check is a query that returns no row."""

from collections.abc import Mapping

from pipeline.errors import SpecwatchError
from pipeline.validate.source import quiet, warehouse_source


def run(url: str, checks: Mapping[str, str]) -> dict[str, list[dict[str, object]]]:
    """Return by name the rows that each query of `checks` found, at most 200; those that found none are left out.

    Writes nothing. Raises EnvironmentFault when the database cannot be reached, SpecwatchError when a query fails.
    """
    with quiet(), warehouse_source(url) as datasource:
        from great_expectations import ExpectationSuite
        from great_expectations.expectations.core.unexpected_rows_expectation import UnexpectedRowsExpectation

        # A query of ours asks tables, not the batch: Great Expectations wants one all the same.
        batch = datasource.add_query_asset("warehouse", query="select 1 as one").add_batch_definition("all").get_batch()
        suite = ExpectationSuite(
            "standing",
            expectations=[
                UnexpectedRowsExpectation(unexpected_rows_query=query, meta={"name": name})
                for name, query in checks.items()
            ],
        )
        found: dict[str, list[dict[str, object]]] = {}
        for result in batch.validate(suite, result_format="COMPLETE").results:
            config = result.expectation_config
            assert config is not None  # noqa: S101 - Great Expectations fills it for every result of a suite
            name = str((config.meta or {})["name"])
            if result.exception_info and result.exception_info.get("raised_exception"):
                message = f"check {name} could not be evaluated: {result.exception_info}"
                raise SpecwatchError(message)
            if not result.success:
                found[name] = list(result.result["details"]["unexpected_rows"])
        return found
