"""Derived facts: speedups and verdicts. Rebuildable from the measurements at any time."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from pipeline.warehouse.tables.metadata import Row

METRICS = "metric in ('latency_speedup', 'decode_speedup', 'throughput_speedup')"


class Speedup(Row):
    """One speedup of one speculative cell in one sweep."""

    __tablename__ = "speedup"
    __table_args__ = (
        CheckConstraint(METRICS, name="metric"),
        CheckConstraint("lower <= estimate and estimate <= upper and lower > 0", name="interval"),
        {
            "comment": "One row a speedup of a speculative cell over its paired baseline in a sweep on one hardware; "
            "> 1 is better."
        },
    )

    sweep_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.sweep.sweep_id"), primary_key=True, comment="The sweep."
    )
    cell_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.cell.cell_id"), primary_key=True, index=True, comment="The speculative cell."
    )
    hardware_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"), primary_key=True, index=True, comment="The machine of both arms."
    )
    metric: Mapped[str] = mapped_column(
        primary_key=True, comment="latency_speedup, decode_speedup or throughput_speedup."
    )
    estimate: Mapped[float] = mapped_column(comment="The ratio.")
    lower: Mapped[float] = mapped_column(comment="Lower bound of the 95% interval.")
    upper: Mapped[float] = mapped_column(comment="Upper bound of the 95% interval.")
    probability_of_loss: Mapped[float] = mapped_column(comment="Probability (0-1) that the ratio is below 1.")
    degrees_of_freedom: Mapped[float] = mapped_column(comment="Of the t distribution behind the interval.")
    pairs: Mapped[int] = mapped_column(comment="Prompts measured in both arms.")
    dropped_prompts: Mapped[int] = mapped_column(comment="Prompts left out: failed in either arm.")
    arm_starts: Mapped[int] = mapped_column(comment="Server starts of the speculative arm.")
    baseline_starts: Mapped[int] = mapped_column(comment="Server starts of the baseline.")
    prompt_variance: Mapped[float] = mapped_column(comment="Between prompts: of the estimate, log scale.")
    start_variance: Mapped[float] = mapped_column(comment="Between server starts: of the estimate, log scale.")
    start_variance_source: Mapped[str] = mapped_column(
        comment="history (A/A pairs of this hardware, engine and target) or prior (too few of them)."
    )
    baseline_value: Mapped[float] = mapped_column(comment="The baseline's figure, in unit.")
    speculative_value: Mapped[float] = mapped_column(comment="The speculative arm's figure, in unit.")
    unit: Mapped[str] = mapped_column(comment="Unit of the two figures.")
    computed_at: Mapped[datetime] = mapped_column(server_default=func.now(), comment="When it was last computed.")


class Verdict(Row):
    """The answer for one speculative cell in one sweep."""

    __tablename__ = "verdict"
    __table_args__ = (
        CheckConstraint(METRICS, name="metric"),
        CheckConstraint("verdict in ('worth_it', 'not_worth_it', 'undecided')", name="verdict"),
        {"comment": "One row a speculative cell in a sweep on one hardware: whether speculation is worth it there."},
    )

    sweep_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.sweep.sweep_id"), primary_key=True, comment="The sweep."
    )
    cell_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.cell.cell_id"), primary_key=True, index=True, comment="The speculative cell."
    )
    hardware_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"), primary_key=True, index=True, comment="The machine of both arms."
    )
    metric: Mapped[str] = mapped_column(comment="The speedup that it judges.")
    margin: Mapped[float] = mapped_column(comment="Speedup from which it is worth it.")
    verdict: Mapped[str] = mapped_column(comment="worth_it, not_worth_it or undecided.")
    harmful: Mapped[bool] = mapped_column(comment="Whether the upper bound is below 1.")
    estimate: Mapped[float] = mapped_column(comment="The speedup.")
    lower: Mapped[float] = mapped_column(comment="Lower bound of the 95% interval.")
    upper: Mapped[float] = mapped_column(comment="Upper bound of the 95% interval.")
    probability_of_loss: Mapped[float] = mapped_column(comment="Probability (0-1) that the speedup is below 1.")
    blocks_to_decide: Mapped[int | None] = mapped_column(
        comment="Further blocks estimated to decide; NULL once decided, or when the estimate lies on the margin."
    )
    aa_log_ratio: Mapped[float | None] = mapped_column(
        comment="log(closing / opening baseline) of the sweep; NULL when one of them is missing."
    )
    reasons: Mapped[list[str]] = mapped_column(comment="Reasons from measured columns, as sentences.")
    computed_at: Mapped[datetime] = mapped_column(server_default=func.now(), comment="When it was last computed.")
