"""Dimensions: what a measurement is a measurement of."""

from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from pipeline.warehouse.tables.metadata import Row


class Engine(Row):
    """One vLLM release on one platform."""

    __tablename__ = "engine"
    __table_args__ = (
        CheckConstraint("platform in ('cpu', 'cuda')", name="platform"),
        {"comment": "One row a vLLM release and platform."},
    )

    engine_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key, such as 0.32.0-cpu.")
    version: Mapped[str] = mapped_column(comment="The release as published, such as 0.32.0.")
    platform: Mapped[str] = mapped_column(comment="cpu or cuda: which build of vLLM.")
    version_sort: Mapped[str] = mapped_column(
        Text(collation="C"),
        comment="The version as text that sorts in release order (0.9.2 before 0.10.0, rc before final).",
    )


class Hardware(Row):
    """One kind of machine."""

    __tablename__ = "hardware"
    __table_args__ = (
        CheckConstraint("kind in ('cpu', 'gpu')", name="kind"),
        {"comment": "One row a kind of machine: hosts alike in every column are the same hardware."},
    )

    hardware_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key: hash of every column below.")
    kind: Mapped[str] = mapped_column(comment="cpu or gpu. Figures of different kinds are never compared.")
    name: Mapped[str] = mapped_column(comment="Product name of the GPU, or model name of the CPU.")
    architecture: Mapped[str | None] = mapped_column(
        comment="GPU architecture (blackwell, hopper) or machine (x86_64); NULL when the driver does not say."
    )
    compute_capability: Mapped[str | None] = mapped_column(comment="CUDA compute capability; NULL on CPU.")
    accelerators: Mapped[int] = mapped_column(comment="GPUs used; 0 on CPU.")
    memory_bytes: Mapped[int | None] = mapped_column(
        comment="Bytes of memory of one GPU, or of the host on CPU; NULL when it could not be read."
    )
    driver_version: Mapped[str | None] = mapped_column(comment="GPU driver; NULL on CPU.")
    cuda_version: Mapped[str | None] = mapped_column(comment="CUDA version of the driver; NULL on CPU.")
    host_cpu: Mapped[str] = mapped_column(comment="Model name of the host's CPU.")
    logical_cpus: Mapped[int] = mapped_column(comment="Logical CPUs of the host.")
    power_limit_w: Mapped[int | None] = mapped_column(comment="W, as enforced; NULL on CPU or unknown.")
    max_sm_clock_mhz: Mapped[int | None] = mapped_column(comment="MHz, highest SM clock; NULL on CPU or unknown.")
    max_memory_clock_mhz: Mapped[int | None] = mapped_column(
        comment="MHz, highest memory clock; NULL on CPU or unknown."
    )
    ecc: Mapped[bool | None] = mapped_column(comment="Whether memory is checked (ECC); NULL on CPU or unknown.")
    mig: Mapped[bool | None] = mapped_column(comment="Whether the GPU is in MIG mode; NULL on CPU or unknown.")
    label: Mapped[str] = mapped_column(comment="What a page prints: the kind first.")


class Model(Row):
    """One set of weights."""

    __tablename__ = "model"
    __table_args__ = (
        CheckConstraint("weights in ('real', 'dummy')", name="weights"),
        {"comment": "One row a target or draft model and the content of its weights, as resolved at run time."},
    )

    model_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key: hash of name, revision, weights.")
    name: Mapped[str] = mapped_column(comment="Name in the matrix.")
    source: Mapped[str] = mapped_column(comment="Where it comes from: path, hub id or embedded:NAME.")
    revision: Mapped[str] = mapped_column(comment="Hub commit, or content hash (sha256:...) of a local model.")
    weights: Mapped[str] = mapped_column(comment="real or dummy. Never compared with each other.")
    layers: Mapped[int | None] = mapped_column(comment="Transformer layers; NULL when its config does not say.")
    hidden_size: Mapped[int | None] = mapped_column(comment="Hidden size; NULL when its config does not say.")
    parameters: Mapped[int | None] = mapped_column(comment="Parameters; NULL when they could not be counted.")
    vocab_size: Mapped[int | None] = mapped_column(comment="Vocabulary size; NULL when its config does not say.")


class Method(Row):
    """One configuration of speculative decoding."""

    __tablename__ = "method"
    __table_args__ = (
        CheckConstraint("acceptance in ('none', 'real', 'synthetic')", name="acceptance"),
        {"comment": "One row a configuration of speculative decoding as vLLM is told it; none is the baseline."},
    )

    method_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key: hash of the configuration.")
    name: Mapped[str] = mapped_column(comment="The arm's name in the matrix that last used it.")
    method: Mapped[str] = mapped_column(comment="vLLM's word: none, ngram, draft_model, eagle3, ...")
    num_speculative_tokens: Mapped[int | None] = mapped_column(comment="Tokens a draft proposes; NULL: baseline.")
    draft: Mapped[str | None] = mapped_column(comment="Name of the draft model; NULL when the method has none.")
    acceptance: Mapped[str] = mapped_column(
        comment="Where acceptance comes from: none (baseline), real or synthetic. Never compared with each other."
    )
    options: Mapped[dict[str, Any]] = mapped_column(comment="Further keys of --speculative-config.")


class Workload(Row):
    """One prompt set."""

    __tablename__ = "workload"
    __table_args__ = ({"comment": "One row a prompt set and its content: changing a prompt makes another row."},)

    workload_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key: name@content_hash.")
    name: Mapped[str] = mapped_column(comment="Name in the matrix.")
    category: Mapped[str] = mapped_column(comment="structured, creative, prefill-heavy, ...")
    content_hash: Mapped[str] = mapped_column(comment="Hash of every prompt's id and messages, in order.")
    description: Mapped[str] = mapped_column(comment="What it stands for, in a sentence.")
    prompts: Mapped[int] = mapped_column(comment="Prompts in the set; a cell may use fewer.")
    temperature: Mapped[float] = mapped_column(comment="Temperature stated for the set; a cell may use another.")
    output_tokens: Mapped[int | None] = mapped_column(
        comment="max_tokens stated for the set; NULL: the matrix says; a cell may use another."
    )
    output_rule: Mapped[str] = mapped_column(comment="When an answer ends.")
    prompt_tokens: Mapped[int | None] = mapped_column(
        comment="Nominal input length, tokens; NULL: every prompt has its own."
    )
    source: Mapped[str] = mapped_column(comment="specwatch, or the path or hub id it was loaded from.")
    revision: Mapped[str | None] = mapped_column(
        comment="Commit of a hub data set, as resolved; NULL for ours and for files."
    )


class Cell(Row):
    """One point of the matrix."""

    __tablename__ = "cell"
    __table_args__ = (
        CheckConstraint("weights in ('real', 'dummy')", name="weights"),
        CheckConstraint(
            "case arrival"
            " when 'closed' then concurrency is not null and request_rate is null"
            " when 'poisson' then concurrency is null and request_rate is not null"
            " when 'fixed' then concurrency is null and request_rate is not null"
            " else false end",
            name="load",
        ),
        {"comment": "One row a point of the matrix: engine x target x method x workload x lengths x load."},
    )

    cell_id: Mapped[str] = mapped_column(primary_key=True, comment="Natural key: hash of every factor.")
    series_id: Mapped[str] = mapped_column(
        index=True, comment="Hash of the factors without the engine version: what a trend follows."
    )
    baseline_cell_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.cell.cell_id", name="cell_baseline_cell_fkey"),
        index=True,
        comment="The cell alike in all but its method, which is none; its own id for a baseline.",
    )
    engine_id: Mapped[str] = mapped_column(ForeignKey("warehouse.engine.engine_id"), index=True, comment="The engine.")
    target_name: Mapped[str] = mapped_column(comment="Name of the target model in the matrix.")
    weights: Mapped[str] = mapped_column(comment="Weights of the target: real or dummy.")
    method_id: Mapped[str] = mapped_column(ForeignKey("warehouse.method.method_id"), index=True, comment="The method.")
    method_name: Mapped[str] = mapped_column(comment="The arm's name in the matrix.")
    workload_id: Mapped[str] = mapped_column(
        ForeignKey("warehouse.workload.workload_id"), index=True, comment="The prompt set."
    )
    prompts: Mapped[int] = mapped_column(comment="Prompts sent in a repetition: the first ones of the set.")
    output_tokens: Mapped[int] = mapped_column(comment="max_tokens of every request.")
    temperature: Mapped[float] = mapped_column(comment="Sampling temperature; 0 is greedy.")
    concurrency: Mapped[int | None] = mapped_column(
        comment="Requests in flight (closed loop); NULL in an open loop, which sends at a rate."
    )
    seed: Mapped[int] = mapped_column(comment="Seed of sampling and order; 0 is a seed.")
    server: Mapped[dict[str, Any]] = mapped_column(comment="Server settings alike in every arm.")
    arrival: Mapped[str] = mapped_column(
        comment="closed: a request follows one that ended; poisson, fixed: an open loop, sent at request_rate."
    )
    request_rate: Mapped[float | None] = mapped_column(comment="Requests sent per s (open loop); NULL: closed loop.")
    prompt_tokens: Mapped[int | None] = mapped_column(
        comment="Nominal input length of a prompt set that comes in lengths, tokens; NULL: the prompts' own."
    )
    guided: Mapped[bool] = mapped_column(comment="Whether prompts with a JSON schema were decoded under it.")
