"""Summaries that publishing and analysis keep: what pages read, so that no page scans measurements or requests."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from pipeline.warehouse.tables.metadata import Row


class CellResult(Row):
    """What became of one planned cell in one sweep on one machine."""

    __tablename__ = "cell_result"
    __table_args__ = (
        CheckConstraint("status in ('measured', 'skipped', 'failed', 'quarantined')", name="status"),
        Index("cell_result_latest_idx", "hardware_id", "cell_id", postgresql_where=text("latest")),
        Index("cell_result_stands_idx", "hardware_id", "cell_id", postgresql_where=text("stands_for_release")),
        {
            "comment": "One row a sweep, planned cell (baselines too) and hardware: what became of it over all its "
            "starts, its repetitions pooled. Derived from cell_outcome, measurement and server_start when a block is "
            "published; NULL where nothing was measured."
        },
    )

    sweep_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.sweep.sweep_id"), primary_key=True, comment="The sweep."
    )
    cell_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.cell.cell_id"), primary_key=True, index=True, comment="The cell."
    )
    hardware_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"), primary_key=True, comment="The machine."
    )
    planned_at: Mapped[datetime] = mapped_column(comment="When the sweep was planned.")
    latest: Mapped[bool] = mapped_column(
        server_default=text("true"), comment="Whether no later sweep planned this cell on this machine."
    )
    stands_for_release: Mapped[bool] = mapped_column(
        server_default=text("false"),
        comment="Whether this sweep stands for the cell's release on this machine: the last one with a latency "
        "speedup, or where none has one, the last that planned it.",
    )
    newest_engine: Mapped[bool] = mapped_column(
        server_default=text("false"),
        comment="Whether it is the latest sweep of its series' newest release on this machine.",
    )
    status: Mapped[str] = mapped_column(
        comment="measured (at least one start measured it), quarantined, failed or skipped."
    )
    reason: Mapped[str | None] = mapped_column(comment="Why starts did not measure it; NULL when all did.")
    repetitions: Mapped[int] = mapped_column(comment="Repetitions measured; 0 when none was.")
    starts: Mapped[int] = mapped_column(comment="Server starts that measured it; 0 when none did.")
    requests: Mapped[int | None] = mapped_column(comment="Requests sent.")
    failed_requests: Mapped[int | None] = mapped_column(comment="Requests with an error.")
    output_tokens: Mapped[int | None] = mapped_column(comment="Output tokens of requests that succeeded.")
    window_s: Mapped[float | None] = mapped_column(comment="s of all measured windows.")
    output_tokens_per_s: Mapped[float | None] = mapped_column(comment="tokens/s: output_tokens / window_s.")
    ttft_mean_ms: Mapped[float | None] = mapped_column(comment="ms: mean TTFT over requests that succeeded.")
    tpot_mean_ms: Mapped[float | None] = mapped_column(comment="ms/token: mean TPOT over requests that succeeded.")
    prefill_share: Mapped[float | None] = mapped_column(comment="Sum of TTFT / sum of e2e latency, 0-1.")
    goodput_per_s: Mapped[float | None] = mapped_column(
        comment="requests/s within their limits; NULL: no limits were stated."
    )
    drafts: Mapped[int | None] = mapped_column(comment="Drafts made; NULL: no speculation counters.")
    drafted_tokens: Mapped[int | None] = mapped_column(comment="Tokens drafted; NULL: no speculation counters.")
    accepted_tokens: Mapped[int | None] = mapped_column(comment="Tokens accepted; NULL: no speculation counters.")
    acceptance_rate: Mapped[float | None] = mapped_column(
        comment="accepted_tokens / drafted_tokens, 0-1; NULL: nothing was drafted."
    )
    mean_acceptance_length: Mapped[float | None] = mapped_column(
        comment="tokens: 1 + accepted_tokens / drafts; NULL: no drafts."
    )
    tokens_per_step: Mapped[float | None] = mapped_column(
        comment="tokens a request gets in an engine step; NULL: no step was counted."
    )
    step_time_ms: Mapped[float | None] = mapped_column(comment="ms an engine step; NULL: no step was counted.")
    joules_per_output_token: Mapped[float | None] = mapped_column(
        comment="J/token of windows with an energy reading; NULL: none has one."
    )
    usd_per_million_output_tokens: Mapped[float | None] = mapped_column(comment="USD; NULL: no price was stated.")
    usd_per_gpu_hour: Mapped[float | None] = mapped_column(comment="USD/h behind it; NULL: no price was stated.")
    model_memory_tax_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes of weights more than the block's baseline, highest of its starts; NULL: not logged, or a "
        "baseline."
    )
    kv_cache_tokens_lost: Mapped[int | None] = mapped_column(
        comment="KV cache tokens fewer than the block's baseline, most of its starts; NULL: as above."
    )
    users_lost: Mapped[float | None] = mapped_column(
        comment="kv_cache_tokens_lost / mean tokens of a request, most of its starts; NULL: as above."
    )
    throttled_share: Mapped[float | None] = mapped_column(
        comment="Share of samples with clocks held down by heat or a brake, 0-1; NULL: not sampled."
    )
    model_runner: Mapped[str | None] = mapped_column(comment="V1 or V2, several listed; NULL: not logged.")
    async_scheduling: Mapped[bool | None] = mapped_column(
        comment="Asynchronous scheduling; NULL: not logged, or its starts differ."
    )
    attention_backend: Mapped[str | None] = mapped_column(comment="Attention backends, listed; NULL: not logged.")
    kv_cache_tokens: Mapped[int | None] = mapped_column(
        comment="KV cache tokens, least of its starts; NULL: not logged."
    )
    model_memory_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes of weights as loaded, most of its starts; NULL: not logged."
    )


class SweepResult(Row):
    """One sweep on one machine in a line."""

    __tablename__ = "sweep_result"
    __table_args__ = (
        Index(None, "planned_at"),
        {
            "comment": "One row a sweep and hardware: its cells counted by outcome, its speculative cells by verdict. "
            "Derived when a block is published and when its sweep is analyzed."
        },
    )

    sweep_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.sweep.sweep_id"), primary_key=True, comment="The sweep."
    )
    hardware_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"), primary_key=True, index=True, comment="The machine."
    )
    planned_at: Mapped[datetime] = mapped_column(comment="When the sweep was planned.")
    cells: Mapped[int] = mapped_column(comment="Planned cells, baselines too.")
    measured: Mapped[int] = mapped_column(comment="Of these: measured.")
    skipped: Mapped[int] = mapped_column(comment="Of these: skipped by the registry.")
    failed: Mapped[int] = mapped_column(comment="Of these: failed.")
    quarantined: Mapped[int] = mapped_column(comment="Of these: quarantined by the gate.")
    worth_it: Mapped[int] = mapped_column(comment="Speculative cells that are worth it.")
    not_worth_it: Mapped[int] = mapped_column(comment="Speculative cells that are not worth it.")
    undecided: Mapped[int] = mapped_column(comment="Speculative cells that are undecided.")
    harmful: Mapped[int] = mapped_column(comment="Speculative cells whose upper bound is below 1.")
    without_verdict: Mapped[int] = mapped_column(comment="Speculative cells without a verdict.")
    worst_aa_log_ratio: Mapped[float | None] = mapped_column(
        comment="The A/A log ratio farthest from 0; NULL: no block has both baselines."
    )


class AaPair(Row):
    """The two baselines of one block."""

    __tablename__ = "aa_pair"
    __table_args__ = (
        ForeignKeyConstraint(
            ["sweep_id", "block_id"], ["warehouse.block.sweep_id", "warehouse.block.block_id"], ondelete="cascade"
        ),
        {
            "comment": "One row a block, baseline cell and hardware: closing against opening baseline. Derived from "
            "requests when the block is published, and kept when they are dropped."
        },
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    cell_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.cell.cell_id"), primary_key=True, index=True, comment="The baseline cell."
    )
    hardware_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"), primary_key=True, index=True, comment="The machine."
    )
    opening_ms_per_token: Mapped[float | None] = mapped_column(
        comment="ms/token: mean e2e latency / output tokens of the opening baseline; NULL: not measured."
    )
    closing_ms_per_token: Mapped[float | None] = mapped_column(
        comment="The same of the closing baseline; NULL: not measured."
    )
    opening_requests: Mapped[int] = mapped_column(comment="Requests without error behind the opening figure.")
    closing_requests: Mapped[int] = mapped_column(comment="Requests without error behind the closing figure.")
    aa_log_ratio: Mapped[float | None] = mapped_column(
        comment="log(closing / opening); NULL: one of the two is missing."
    )
