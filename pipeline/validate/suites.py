"""The suites: what must hold of a load, table by table. Each expectation is named and says what breaking it means.

Great Expectations returns at most 200 failing rows, so custom queries return a row a cell: how many of its `rows` fail.
"""
# Great Expectations re-exports its expectations without `__all__`:
# mypy: disable-error-code="attr-defined"
# ruff: noqa: S608 - the only name put into a query is the key of a repetition

from typing import TYPE_CHECKING, Any

from pipeline.domain.block import Block
from pipeline.domain.measurement import CLIENT_CPU_AT_MOST, DELIVERED_AT_LEAST, THROTTLED_AT_MOST
from pipeline.domain.validation import Severity
from pipeline.validate import planned

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

TIMES = (
    "window_s",
    "ttft_mean_ms",
    "ttft_median_ms",
    "ttft_p90_ms",
    "ttft_p99_ms",
    "e2e_latency_mean_ms",
    "e2e_latency_median_ms",
    "e2e_latency_p90_ms",
    "e2e_latency_p99_ms",
    "tpot_mean_ms",
    "tpot_median_ms",
    "tpot_p90_ms",
    "tpot_p99_ms",
    "step_time_ms",
    "steady_s",
)
SHARES = (
    "acceptance_rate",
    "per_token_acceptance",
    "prefill_share",
    "prefix_cache_hit_rate",
    "kv_cache_usage_peak",
    "identical_share",
    "throttled_share",
    "power_capped_share",
    "gpu_utilization_mean",
)
COUNTS = (
    "drafts",
    "drafted_tokens",
    "accepted_tokens",
    "engine_steps",
    "server_output_tokens",
    "preemptions",
    "queue_time_s",
    "prefill_time_s",
    "decode_time_s",
    "inference_time_s",
    "prefix_cache_queries",
    "prefix_cache_hits",
    "goodput_per_s",
    "energy_joules",
    "power_peak_w",
    "server_cpu_cores",
    "foreign_processes",
    "compared_outputs",
)
EARLY_MS = -1.0  # two clocks of one machine, read a little apart


def measurement_suite(block: Block, *, load_id: str) -> "list[Expectation]":
    """Return what must hold of staging.measurement."""
    import great_expectations.expectations as gx

    def holds(name: str, subject: str, details: str, severity: Severity = "critical") -> dict[str, Any]:
        return _named(name, f"measurement.{subject}", details, severity)

    return [
        gx.ExpectColumnPairValuesToBeEqual(
            column_A="requests",
            column_B="planned_requests",
            **holds("requests_as_planned", "requests", "a window holds another number of requests than planned"),
        ),
        gx.UnexpectedRowsExpectation(
            unexpected_rows_query=planned.missing_repetitions(block, load_id=load_id),
            **holds("repetitions_present", "repetition", "a repetition of a measured cell is missing"),
        ),
        gx.UnexpectedRowsExpectation(
            unexpected_rows_query=_repeated(planned.KEY),
            **holds("repetition_once", "repetition", "a repetition is there twice"),
        ),
        *(
            gx.ExpectColumnValuesToBeBetween(
                column=name, min_value=0, strict_min=True, **holds("time_positive", name, f"{name} is not above 0")
            )
            for name in TIMES
        ),
        *(
            gx.ExpectColumnValuesToBeBetween(
                column=name, min_value=0, max_value=1, **holds("share_in_range", name, f"{name} lies outside 0 to 1")
            )
            for name in SHARES
        ),
        *(
            gx.ExpectColumnValuesToBeBetween(
                column=name, min_value=0, **holds("count_not_negative", name, f"{name} is negative")
            )
            for name in COUNTS
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="failed_requests",
            min_value=0,
            max_value=0,
            **holds("no_failed_requests", "failed_requests", "requests failed"),
        ),
        gx.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="drafted_tokens",
            column_B="accepted_tokens",
            or_equal=True,
            ignore_row_if="either_value_is_missing",
            **holds("accepted_within_drafted", "accepted_tokens", "more tokens were accepted than drafted"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="mean_acceptance_length",
            min_value=1,
            **holds("acceptance_length_at_least_1", "mean_acceptance_length", "mean acceptance length below 1"),
        ),
        gx.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="longest_acceptance",
            column_B="mean_acceptance_length",
            or_equal=True,
            ignore_row_if="either_value_is_missing",
            **holds("acceptance_length_at_most_k_1", "mean_acceptance_length", "mean acceptance length above k + 1"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="baseline_drafts",
            min_value=0,
            max_value=0,
            **holds("baseline_drafts_nothing", "drafts", "the baseline made drafts"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="arm_drafts",
            min_value=1,
            **holds("speculation_drafts", "drafts", "a speculative arm made no draft", "warning"),
        ),
        gx.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="most_output_tokens",
            column_B="output_tokens",
            or_equal=True,
            **holds("output_within_limit", "output_tokens", "more output tokens than requests x max_tokens"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="token_count_gap",
            min_value=0,
            max_value=0,
            **holds("no_token_count_gap", "token_count_gap", "server and client count different output tokens"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="chunk_token_gap",
            min_value=0,
            max_value=0,
            **holds("chunks_count_as_usage", "chunk_token_gap", "chunks and usage count different output tokens"),
        ),
        *disturbances(),
    ]


def disturbances() -> "list[Expectation]":
    """Return what marks a measurement without refusing it: each has a column that a page can show."""
    import great_expectations.expectations as gx

    def warns(name: str, subject: str, details: str) -> dict[str, Any]:
        return _named(name, f"measurement.{subject}", details, "warning")

    return [
        *(
            gx.ExpectColumnValuesToBeBetween(
                column=name,
                min_value=0,
                max_value=CLIENT_CPU_AT_MOST,
                **warns("client_has_room", name, "the load client may be the bottleneck"),
            )
            for name in ("client_cpu_share", "client_busiest_core_share")
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="delivered_concurrency",
            min_value=DELIVERED_AT_LEAST,
            **warns("concurrency_delivered", "delivered_concurrency", "fewer requests were in flight than asked for"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="foreign_processes",
            min_value=0,
            max_value=0,
            **warns("gpu_to_itself", "foreign_processes", "another process computed on the GPU"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="throttled_share",
            min_value=0,
            max_value=THROTTLED_AT_MOST,
            **warns("clocks_free", "throttled_share", "heat or the hardware held the clocks down"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="ttft_gap_ms",
            min_value=EARLY_MS,
            **warns("ttft_not_before_the_server", "ttft_gap_ms", "the client saw first tokens before the server"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="control_share",
            min_value=1,
            **warns("baseline_repeats_itself", "identical_share", "the baseline's own greedy outputs differ"),
        ),
    ]


def request_suite() -> "list[Expectation]":
    """Return what must hold of staging.request."""
    import great_expectations.expectations as gx

    def holds(name: str, subject: str, details: str) -> dict[str, Any]:
        return _named(name, f"request.{subject}", details, "critical")

    return [
        gx.UnexpectedRowsExpectation(
            unexpected_rows_query=_repeated(f"{planned.KEY}, request_index"),
            **holds("request_once", "request_index", "a request is there twice"),
        ),
        gx.UnexpectedRowsExpectation(
            unexpected_rows_query=(
                f"select cell_id, count(*) as rows from (select cell_id from {{batch}} group by {planned.KEY} "
                "having count(*) <> max(planned_requests)) as other group by cell_id"
            ),
            **holds("request_rows_as_planned", "request_index", "a repetition has another number of rows than planned"),
        ),
        gx.ExpectColumnValuesToBeNull(column="error", **holds("no_error", "error", "a request failed")),
        gx.ExpectColumnValuesToNotBeNull(
            column="output_tokens", **holds("output_counted", "output_tokens", "a request has no output token count")
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="output_tokens",
            min_value=1,
            **holds("output_not_empty", "output_tokens", "a request has no output"),
        ),
        gx.ExpectColumnValuesToBeBetween(
            column="ttft_ms", min_value=0, strict_min=True, **holds("ttft_positive", "ttft_ms", "a TTFT is not above 0")
        ),
        gx.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="e2e_latency_ms",
            column_B="ttft_ms",
            or_equal=True,
            ignore_row_if="either_value_is_missing",
            **holds("end_after_first_token", "e2e_latency_ms", "a request ended before its first token"),
        ),
    ]


def position_suite() -> "list[Expectation]":
    """Return what must hold of staging.acceptance_position."""
    import great_expectations.expectations as gx

    def holds(name: str, subject: str, details: str) -> dict[str, Any]:
        return _named(name, f"acceptance_position.{subject}", details, "critical")

    return [
        gx.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="drafts",
            column_B="accepted",
            or_equal=True,
            **holds("position_within_drafts", "accepted", "a position was accepted more often than drafts were made"),
        ),
        gx.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A="last_position",
            column_B="draft_position",
            or_equal=True,
            **holds("position_within_k", "draft_position", "a draft position lies beyond num_speculative_tokens"),
        ),
        gx.UnexpectedRowsExpectation(
            unexpected_rows_query=(
                "select cell_id, count(*) as rows "
                "from {batch} as later inner join {batch} as earlier "
                f"using ({planned.KEY}) "
                "where later.draft_position = earlier.draft_position + 1 and later.accepted > earlier.accepted "
                "group by cell_id"
            ),
            **holds("acceptance_falls_with_position", "accepted", "a later position was accepted more often"),
        ),
    ]


def _repeated(key: str) -> str:
    """Return SQL for the cells with two rows of one key."""
    return (
        "select cell_id, count(*) as rows from ("
        f"select cell_id from {{batch}} group by {key} having count(*) > 1) as repeated group by cell_id"
    )


def _named(name: str, subject: str, details: str, severity: Severity) -> dict[str, Any]:
    return {"severity": severity, "meta": {"name": name, "subject": subject, "details": details}}
