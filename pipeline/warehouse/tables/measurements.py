"""Facts of measurement: repetitions reduced to metrics, acceptance by position, and single requests."""

from datetime import date, datetime

from sqlalchemy import BigInteger, CheckConstraint, Double, ForeignKey, ForeignKeyConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from pipeline.domain.catalogue import CATALOGUE, Metric
from pipeline.warehouse.tables.facts import POSITIONS
from pipeline.warehouse.tables.metadata import Row

KEY = ("sweep_id", "block_id", "start_index", "attempt", "cell_id", "repetition")
START_KEY = KEY[:4]


def metric_comment(metric: Metric) -> str:
    """Return the comment of a metric's column: formula, unit, and when it is NULL."""
    never = metric.undefined == "never"
    null = "Never NULL." if never else f"NULL: {metric.undefined}."
    return f"{metric.formula} [{metric.unit}]. {null}"


def _to_measurement() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(KEY, [f"warehouse.measurement.{name}" for name in KEY], ondelete="cascade")


class Measurement(Row):
    """One repetition of one cell in one server start; the metrics' columns follow the catalogue."""

    __tablename__ = "measurement"
    __table_args__ = (
        ForeignKeyConstraint(START_KEY, [f"warehouse.server_start.{name}" for name in START_KEY]),
        CheckConstraint(POSITIONS, name="position"),
        Index(None, "cell_id", "sweep_id"),
        {"comment": "One row a repetition of a cell in a server start, on one hardware, reduced to metrics."},
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    start_index: Mapped[int] = mapped_column(primary_key=True, comment="The planned start.")
    attempt: Mapped[int] = mapped_column(primary_key=True, comment="Attempt at that start.")
    cell_id: Mapped[str] = mapped_column(ForeignKey("warehouse.cell.cell_id"), primary_key=True, comment="The cell.")
    repetition: Mapped[int] = mapped_column(primary_key=True, comment="Repeat inside the planned start, from 0.")
    position: Mapped[str] = mapped_column(comment="Of its server start: opening, arm or closing.")
    hardware_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"), index=True, comment="The machine."
    )
    started_at: Mapped[datetime] = mapped_column(comment="Start of the measured window.")
    faults: Mapped[list[str] | None] = mapped_column(
        comment="What marks it: under_delivered, client_busy, foreign_process, throttled; [] when nothing does. "
        "NULL: loaded by a release that did not judge."
    )


for _metric in CATALOGUE:
    setattr(
        Measurement,
        _metric.name,
        mapped_column(
            BigInteger() if _metric.kind == "count" else Double(),
            nullable=_metric.undefined != "never",
            comment=metric_comment(_metric),
        ),
    )


class AcceptancePosition(Row):
    """Acceptance at one draft position in one repetition."""

    __tablename__ = "acceptance_position"
    __table_args__ = (
        _to_measurement(),
        {"comment": "One row a draft position of a repetition: counter differences over its window."},
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    start_index: Mapped[int] = mapped_column(primary_key=True, comment="The planned start.")
    attempt: Mapped[int] = mapped_column(primary_key=True, comment="Attempt at that start.")
    cell_id: Mapped[str] = mapped_column(primary_key=True, comment="The cell.")
    repetition: Mapped[int] = mapped_column(primary_key=True, comment="The repetition.")
    draft_position: Mapped[int] = mapped_column(primary_key=True, comment="Position inside a draft, from 0.")
    accepted: Mapped[int] = mapped_column(comment="Tokens accepted at this position.")
    drafts: Mapped[int] = mapped_column(comment="Drafts made in the window.")
    unconditional: Mapped[float | None] = mapped_column(
        comment="accepted / drafts, 0-1. NULL: no draft, or loaded by an older release."
    )
    conditional: Mapped[float | None] = mapped_column(
        comment="accepted / accepted at the position before (drafts at position 0), 0-1. NULL: nothing was accepted "
        "there, or loaded by an older release."
    )


class Request(Row):
    """One request of one repetition."""

    __tablename__ = "request"
    __table_args__ = (
        _to_measurement(),
        Index(None, "sweep_date", postgresql_using="brin"),
        {
            "comment": "One row a request of a measured window, as the load client saw it. Holds no text. One "
            "partition a month of sweep_date (warehouse.ensure_request_partition).",
            "postgresql_partition_by": "range (sweep_date)",
        },
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    start_index: Mapped[int] = mapped_column(primary_key=True, comment="The planned start.")
    attempt: Mapped[int] = mapped_column(primary_key=True, comment="Attempt at that start.")
    cell_id: Mapped[str] = mapped_column(primary_key=True, comment="The cell.")
    repetition: Mapped[int] = mapped_column(primary_key=True, comment="The repetition.")
    request_index: Mapped[int] = mapped_column(primary_key=True, comment="Order of sending, from 0.")
    sweep_date: Mapped[date] = mapped_column(
        primary_key=True, comment="The sweep's date (UTC): decides the partition; name it to read only one."
    )
    prompt_id: Mapped[str] = mapped_column(comment="The prompt inside its set: what pairs arms.")
    seed: Mapped[int] = mapped_column(comment="Sampling seed sent with it; 0 is a seed.")
    ttft_ms: Mapped[float | None] = mapped_column(
        comment="ms from send to the first chunk with a token; NULL when none came."
    )
    e2e_latency_ms: Mapped[float | None] = mapped_column(
        comment="ms from send to the last chunk with a token; NULL when none came."
    )
    tpot_ms: Mapped[float | None] = mapped_column(
        comment="ms a token after the first chunk; NULL when no token came after it."
    )
    prompt_tokens: Mapped[int | None] = mapped_column(comment="From usage; NULL when no usage came.")
    output_tokens: Mapped[int | None] = mapped_column(comment="From usage; NULL when no usage came.")
    first_chunk_tokens: Mapped[int | None] = mapped_column(
        comment="Tokens in the first chunk (several under speculation); NULL when none came."
    )
    chunks: Mapped[int] = mapped_column(comment="Chunks with tokens.")
    finish_reason: Mapped[str | None] = mapped_column(comment="stop or length; NULL when it did not finish.")
    error: Mapped[str | None] = mapped_column(comment="Class of the error; NULL when it succeeded.")
    error_detail: Mapped[str | None] = mapped_column(comment="The error in words; NULL when it succeeded.")
    text_hash: Mapped[str | None] = mapped_column(comment="Hash of the output text; NULL when there is none.")
    sent_offset_ms: Mapped[float] = mapped_column(comment="ms from the window's start to the send.")
    phase: Mapped[str | None] = mapped_column(
        comment="ramp_up: sent before the window held the cell's load; tail: ended after it last did; "
        "steady: all inside; NULL: the window never held it, or the request was loaded by an older release."
    )


class Telemetry(Row):
    """About ten seconds of one repetition."""

    __tablename__ = "telemetry"
    __table_args__ = (
        _to_measurement(),
        {"comment": "One row a period of about ten seconds of a measured window: what the machine did in it."},
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    start_index: Mapped[int] = mapped_column(primary_key=True, comment="The planned start.")
    attempt: Mapped[int] = mapped_column(primary_key=True, comment="Attempt at that start.")
    cell_id: Mapped[str] = mapped_column(primary_key=True, comment="The cell.")
    repetition: Mapped[int] = mapped_column(primary_key=True, comment="The repetition.")
    period: Mapped[int] = mapped_column(primary_key=True, comment="Order inside the window, from 0.")
    offset_s: Mapped[float] = mapped_column(comment="s from the first send to the begin of the period.")
    duration_s: Mapped[float] = mapped_column(comment="s that it lasted.")
    samples: Mapped[int] = mapped_column(comment="Samples taken in it.")
    power_mean_w: Mapped[float | None] = mapped_column(comment="W, mean; NULL: no GPU, or NVML did not say.")
    power_peak_w: Mapped[float | None] = mapped_column(comment="W, highest; NULL: no GPU, or NVML did not say.")
    gpu_memory_peak_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes used on the GPU, highest; NULL: no GPU, or NVML did not say."
    )
    sm_clock_mean_mhz: Mapped[float | None] = mapped_column(comment="MHz, mean; NULL: no GPU, or NVML did not say.")
    memory_clock_mean_mhz: Mapped[float | None] = mapped_column(comment="MHz, mean; NULL: no GPU, or NVML did not say.")
    temperature_peak_c: Mapped[float | None] = mapped_column(
        comment="Degrees C, highest; NULL: no GPU, or NVML did not say."
    )
    gpu_utilization_mean: Mapped[float | None] = mapped_column(
        comment="Share of time with a kernel running, 0-1, mean; NULL: no GPU, or NVML did not say."
    )
    throttled_share: Mapped[float | None] = mapped_column(
        comment="Share of samples with clocks held down by heat, hardware slowdown or power brake, 0-1; "
        "NULL: no GPU, or NVML did not say."
    )
    power_capped_share: Mapped[float | None] = mapped_column(
        comment="Share of samples with clocks held down by the power limit, 0-1; NULL: no GPU, or NVML did not say."
    )
    server_cpu_cores: Mapped[float | None] = mapped_column(
        comment="Cores that the server's processes kept busy; NULL: fewer than two samples of them."
    )
    server_rss_peak_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes of resident memory of the server's processes, highest; NULL: not sampled in this period."
    )
    kv_cache_usage_peak: Mapped[float | None] = mapped_column(
        comment="KV cache in use, 0-1, highest; NULL: not asked in this period."
    )
