"""Facts of execution: sweeps, blocks, server starts, and what became of every planned cell."""

from datetime import date, datetime

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint
from sqlalchemy.orm import Mapped, mapped_column

from pipeline.warehouse.tables.metadata import Row

POSITIONS = "position in ('opening', 'arm', 'closing')"


class Sweep(Row):
    """One execution of a matrix."""

    __tablename__ = "sweep"
    __table_args__ = (
        CheckConstraint("sweep_date = (planned_at at time zone 'UTC')::date", name="sweep_date"),
        {"comment": "One row an execution of a matrix."},
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key.")
    matrix_name: Mapped[str] = mapped_column(comment="Name of the matrix.")
    matrix_hash: Mapped[str] = mapped_column(comment="Hash of the matrix as it ran, overrides included.")
    planned_at: Mapped[datetime] = mapped_column(index=True, comment="When it was planned.")
    sweep_date: Mapped[date] = mapped_column(
        index=True, comment="Day of planned_at in UTC: the month of it is the partition of its requests."
    )
    trigger: Mapped[str] = mapped_column(comment="What started it: cli, nightly, adhoc, demo, test.")


class Block(Row):
    """One block."""

    __tablename__ = "block"
    __table_args__ = (
        {
            "comment": "One row a block: opening baseline, arms and closing baseline of one engine and target, "
            "back to back on one machine."
        },
    )

    sweep_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.sweep.sweep_id"), primary_key=True, comment="The sweep."
    )
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key inside the sweep.")
    engine_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.engine.engine_id"), index=True, comment="The engine of all its cells."
    )
    target_model_id: Mapped[str | None] = mapped_column(
        ForeignKey("warehouse.model.model_id"),
        index=True,
        comment="The target model as resolved; NULL when it could not be resolved and nothing ran.",
    )
    hardware_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.hardware.hardware_id"), index=True, comment="The machine it ran on."
    )
    repetitions: Mapped[int] = mapped_column(comment="Planned repetitions of a cell inside a server start.")
    completed_at: Mapped[datetime | None] = mapped_column(
        comment="When every planned cell had an outcome; NULL while the block is unfinished."
    )
    interruptions: Mapped[int] = mapped_column(comment="How often it stopped and was resumed.")
    reopened: Mapped[int] = mapped_column(comment="How many of these needed a new opening baseline.")


class BlockModel(Row):
    """A model that a block loaded."""

    __tablename__ = "block_model"
    __table_args__ = (
        ForeignKeyConstraint(
            ["sweep_id", "block_id"], ["warehouse.block.sweep_id", "warehouse.block.block_id"], ondelete="cascade"
        ),
        CheckConstraint("role in ('target', 'draft')", name="role"),
        {"comment": "One row a model that a block used: which weights exactly, for target and drafts."},
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    model_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.model.model_id"), primary_key=True, index=True, comment="The model."
    )
    role: Mapped[str] = mapped_column(comment="target or draft.")


class ServerStart(Row):
    """One process of vLLM."""

    __tablename__ = "server_start"
    __table_args__ = (
        ForeignKeyConstraint(
            ["sweep_id", "block_id"], ["warehouse.block.sweep_id", "warehouse.block.block_id"], ondelete="cascade"
        ),
        CheckConstraint(POSITIONS, name="position"),
        {"comment": "One row a process of vLLM serving the cells of one arm: an attempt at a planned start."},
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    start_index: Mapped[int] = mapped_column(
        primary_key=True, comment="Order inside the block; 0 is the opening baseline."
    )
    attempt: Mapped[int] = mapped_column(primary_key=True, comment="1 is the first; a resumed block makes more.")
    position: Mapped[str] = mapped_column(comment="opening, arm or closing.")
    method_name: Mapped[str] = mapped_column(comment="The arm's name in the matrix.")
    method_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.method.method_id"), index=True, comment="The method it served."
    )
    started_at: Mapped[datetime] = mapped_column(comment="When the process was started.")
    ready_s: Mapped[float | None] = mapped_column(comment="s from exec to the first token; NULL: never ready.")
    vllm_version: Mapped[str | None] = mapped_column(comment="Version in its log; NULL when not logged.")
    model_runner: Mapped[str | None] = mapped_column(comment="V1 or V2; NULL when not logged.")
    async_scheduling: Mapped[bool | None] = mapped_column(comment="Asynchronous scheduling; NULL: not logged.")
    attention_backend: Mapped[str | None] = mapped_column(comment="Attention backend; NULL when not logged.")
    cudagraph_mode: Mapped[str | None] = mapped_column(comment="CUDA graph mode; NULL when not logged.")
    enforce_eager: Mapped[bool | None] = mapped_column(comment="Eager execution; NULL when not logged.")
    kv_cache_tokens: Mapped[int | None] = mapped_column(comment="KV cache, tokens; NULL when not logged.")
    kv_cache_bytes: Mapped[int | None] = mapped_column(comment="KV cache, bytes; NULL when not logged.")
    max_concurrency: Mapped[float | None] = mapped_column(
        comment="Requests of max_model_len that fit the KV cache; NULL when not logged."
    )
    model_memory_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes of weights as loaded, target and draft together; NULL when not logged."
    )
    load_s: Mapped[float | None] = mapped_column(comment="s to load the weights; NULL when not logged.")
    compile_s: Mapped[float | None] = mapped_column(comment="s of compilation; NULL when not logged.")
    torch_version: Mapped[str | None] = mapped_column(comment="torch in the engine; NULL when unknown.")
    cuda_version: Mapped[str | None] = mapped_column(comment="CUDA in the engine; NULL on CPU or unknown.")
    warnings: Mapped[list[str]] = mapped_column(comment="Warnings of its log worth keeping; [] when none.")
    draft_memory_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes of weights beyond the block's baseline: the draft's; NULL without a draft or when not logged."
    )
    graph_capture_s: Mapped[float | None] = mapped_column(comment="s to capture CUDA graphs; NULL when not logged.")
    graph_memory_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes that captured CUDA graphs take; NULL when not logged."
    )
    init_s: Mapped[float | None] = mapped_column(
        comment="s of profiling, KV cache and warm-up together; NULL when not logged."
    )
    jit_compilations: Mapped[int | None] = mapped_column(
        comment="Kernels compiled while requests ran, warm-up included; NULL where the release does not watch."
    )
    warning_kinds: Mapped[list[str] | None] = mapped_column(
        comment="Classes of warnings that change figures: jit_during_inference, graph_downgrade, runner_fallback, "
        "async_off, feature_off; [] when none, NULL on starts loaded before they were classified."
    )
    argv: Mapped[list[str]] = mapped_column(comment="Its command line.")
    environment: Mapped[dict[str, str]] = mapped_column(comment="Environment that was set; secrets redacted.")
    failure_class: Mapped[str | None] = mapped_column(comment="Why it did not serve; NULL when it did.")
    failure_message: Mapped[str | None] = mapped_column(comment="The same for a person; NULL when it served.")
    failure_next_step: Mapped[str | None] = mapped_column(comment="What a person can do; NULL when it served.")
    failure_retryable: Mapped[bool | None] = mapped_column(
        comment="Whether trying again unchanged may help; NULL when it served."
    )


class CellOutcome(Row):
    """What became of a planned cell."""

    __tablename__ = "cell_outcome"
    __table_args__ = (
        ForeignKeyConstraint(
            ["sweep_id", "block_id"], ["warehouse.block.sweep_id", "warehouse.block.block_id"], ondelete="cascade"
        ),
        CheckConstraint("status in ('measured', 'skipped', 'failed', 'quarantined')", name="status"),
        CheckConstraint("status = 'measured' or reason is not null", name="reason"),
        {"comment": "One row a planned cell in a planned start: what became of it. Never a missing row."},
    )

    sweep_id: Mapped[str] = mapped_column(primary_key=True, comment="The sweep.")
    block_id: Mapped[str] = mapped_column(primary_key=True, comment="The block.")
    start_index: Mapped[int] = mapped_column(
        primary_key=True, comment="The planned start; -1 for a skipped cell, which belongs to no start."
    )
    cell_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.cell.cell_id"), primary_key=True, index=True, comment="The cell."
    )
    status: Mapped[str] = mapped_column(comment="measured, skipped, failed or quarantined.")
    reason: Mapped[str | None] = mapped_column(comment="Why it was not measured; NULL when it was.")
    failure: Mapped[str | None] = mapped_column(
        comment="Class of the failure, such as out_of_memory; NULL unless a server or request failed."
    )
