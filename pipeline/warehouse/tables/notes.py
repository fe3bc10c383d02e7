"""What people say of the data: annotations, and decisions about what the gate held back."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from pipeline.warehouse.tables.metadata import Row


class Annotation(Row):
    """A remark of a person."""

    __tablename__ = "annotation"
    __table_args__ = (
        CheckConstraint("length(remark) between 1 and 10000", name="remark"),
        {
            "comment": "One row a remark of a person about a moment, and a sweep, cell, engine or machine where it is "
            "about one. Added and never changed."
        },
    )

    annotation_id: Mapped[UUID] = mapped_column(
        primary_key=True, server_default=func.gen_random_uuid(), comment="Random."
    )
    about: Mapped[datetime] = mapped_column(
        server_default=func.now(), comment="The moment on a page's time axis that it is about."
    )
    sweep_id: Mapped[str | None] = mapped_column(
        ForeignKey("warehouse.sweep.sweep_id"), index=True, comment="The sweep it is about; NULL: no single one."
    )
    cell_id: Mapped[str | None] = mapped_column(
        ForeignKey("warehouse.cell.cell_id"), index=True, comment="The cell it is about; NULL: no single one."
    )
    engine_id: Mapped[str | None] = mapped_column(
        ForeignKey("warehouse.engine.engine_id"), index=True, comment="The engine it is about; NULL: no single one."
    )
    hardware_id: Mapped[str | None] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"),
        index=True,
        comment="The machine it is about; NULL: no one.",
    )
    remark: Mapped[str] = mapped_column(comment="What is said, as plain text.")
    author: Mapped[str] = mapped_column(server_default=func.current_user(), comment="Who said it: the database role.")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), comment="When it was said.")


class QuarantineDecision(Row):
    """What a person decided about a quarantined cell."""

    __tablename__ = "quarantine_decision"
    __table_args__ = (
        CheckConstraint("decision in ('upheld', 'measure_again')", name="decision"),
        {
            "comment": "One row a decision of a person about a cell that the gate quarantined in a load. The last one "
            "counts; none changes what is published."
        },
    )

    load_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.load.load_id", ondelete="cascade"), primary_key=True, comment="The load."
    )
    cell_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.cell.cell_id"), primary_key=True, index=True, comment="The cell."
    )
    decided_at: Mapped[datetime] = mapped_column(
        primary_key=True, server_default=func.now(), comment="When it was decided."
    )
    decision: Mapped[str] = mapped_column(comment="upheld (the gate was right) or measure_again.")
    remark: Mapped[str | None] = mapped_column(comment="Why; NULL when nothing was said.")
    author: Mapped[str] = mapped_column(server_default=func.current_user(), comment="Who decided: the database role.")
