"""How data came in: loads and what validation said of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from pipeline.warehouse.tables.metadata import Row


class Load(Row):
    """One attempt at loading one block."""

    __tablename__ = "load"
    __table_args__ = (
        CheckConstraint("state in ('staged', 'published', 'quarantined', 'abandoned')", name="state"),
        {"comment": "One row an attempt at loading the run directory of a block."},
    )

    load_id: Mapped[str] = mapped_column(primary_key=True, comment="Random; also the key of its staged rows.")
    sweep_id: Mapped[str] = mapped_column(comment="The sweep; no foreign key: it may never be published.")
    block_id: Mapped[str] = mapped_column(comment="The block.")
    state: Mapped[str] = mapped_column(
        comment="staged (undecided), published, quarantined (nothing published) or abandoned (reaped)."
    )
    reason: Mapped[str | None] = mapped_column(comment="Why it was quarantined; NULL when it was not.")
    created_at: Mapped[datetime] = mapped_column(comment="When it was staged.")
    decided_at: Mapped[datetime | None] = mapped_column(comment="When it left staged; NULL before.")
    rows: Mapped[int] = mapped_column(comment="Rows staged: measurements, positions, requests and telemetry.")
    directory: Mapped[str] = mapped_column(comment="The run directory it was read from.")


class ValidationResult(Row):
    """One expectation evaluated on one load."""

    __tablename__ = "validation_result"
    __table_args__ = (
        CheckConstraint("severity in ('critical', 'warning')", name="severity"),
        {"comment": "One row an expectation evaluated on a load."},
    )

    load_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.load.load_id", ondelete="cascade"), primary_key=True, comment="The load."
    )
    expectation: Mapped[str] = mapped_column(primary_key=True, comment="Name of the expectation.")
    subject: Mapped[str] = mapped_column(primary_key=True, comment="Table and column it is about.")
    success: Mapped[bool] = mapped_column(comment="Whether it held.")
    severity: Mapped[str] = mapped_column(comment="critical quarantines what fails; warning only tells.")
    observed: Mapped[dict[str, Any]] = mapped_column(comment="What was seen: counts and examples.")
    details: Mapped[str | None] = mapped_column(comment="What it means, in a sentence; NULL when it held.")
    cell_ids: Mapped[list[str]] = mapped_column(comment="Cells whose rows failed; [] when none can be named.")
