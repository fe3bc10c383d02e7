"""What the instrument measures.

Revises: 0002
"""
# ruff: noqa: E501, PLR0915 - generated lines: a statement a column, with its comment

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema from 0002 to 0003."""
    op.create_table(
        "telemetry",
        sa.Column("load_id", sa.Text(), nullable=False, comment="The load that brought the row."),
        sa.Column("sweep_id", sa.Text(), nullable=True, comment="The sweep."),
        sa.Column("block_id", sa.Text(), nullable=True, comment="The block."),
        sa.Column("start_index", sa.BigInteger(), nullable=True, comment="The planned start."),
        sa.Column("attempt", sa.BigInteger(), nullable=True, comment="Attempt at that start."),
        sa.Column("cell_id", sa.Text(), nullable=True, comment="The cell."),
        sa.Column("repetition", sa.BigInteger(), nullable=True, comment="The repetition."),
        sa.Column("period", sa.BigInteger(), nullable=True, comment="Order inside the window, from 0."),
        sa.Column("offset_s", sa.Double(), nullable=True, comment="s from the first send to the begin of the period."),
        sa.Column("duration_s", sa.Double(), nullable=True, comment="s that it lasted."),
        sa.Column("samples", sa.BigInteger(), nullable=True, comment="Samples taken in it."),
        sa.Column("power_mean_w", sa.Double(), nullable=True, comment="W, mean; NULL: no GPU, or NVML did not say."),
        sa.Column("power_peak_w", sa.Double(), nullable=True, comment="W, highest; NULL: no GPU, or NVML did not say."),
        sa.Column(
            "gpu_memory_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Bytes used on the GPU, highest; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "sm_clock_mean_mhz", sa.Double(), nullable=True, comment="MHz, mean; NULL: no GPU, or NVML did not say."
        ),
        sa.Column(
            "memory_clock_mean_mhz", sa.Double(), nullable=True, comment="MHz, mean; NULL: no GPU, or NVML did not say."
        ),
        sa.Column(
            "temperature_peak_c",
            sa.Double(),
            nullable=True,
            comment="Degrees C, highest; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "gpu_utilization_mean",
            sa.Double(),
            nullable=True,
            comment="Share of time with a kernel running, 0-1, mean; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "throttled_share",
            sa.Double(),
            nullable=True,
            comment="Share of samples with clocks held down by heat, hardware slowdown or power brake, 0-1; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "power_capped_share",
            sa.Double(),
            nullable=True,
            comment="Share of samples with clocks held down by the power limit, 0-1; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "server_cpu_cores",
            sa.Double(),
            nullable=True,
            comment="Cores that the server's processes kept busy; NULL: fewer than two samples of them.",
        ),
        sa.Column(
            "server_rss_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Bytes of resident memory of the server's processes, highest; NULL: not sampled in this period.",
        ),
        sa.Column(
            "kv_cache_usage_peak",
            sa.Double(),
            nullable=True,
            comment="KV cache in use, 0-1, highest; NULL: not asked in this period.",
        ),
        schema="staging",
        comment="Rows for warehouse.telemetry that await the gate, or were refused by it.",
        prefixes=["UNLOGGED"],
    )
    op.create_index("telemetry_load_id_idx", "telemetry", ["load_id"], unique=False, schema="staging")
    op.create_table(
        "telemetry",
        sa.Column("sweep_id", sa.Text(), nullable=False, comment="The sweep."),
        sa.Column("block_id", sa.Text(), nullable=False, comment="The block."),
        sa.Column("start_index", sa.BigInteger(), nullable=False, comment="The planned start."),
        sa.Column("attempt", sa.BigInteger(), nullable=False, comment="Attempt at that start."),
        sa.Column("cell_id", sa.Text(), nullable=False, comment="The cell."),
        sa.Column("repetition", sa.BigInteger(), nullable=False, comment="The repetition."),
        sa.Column("period", sa.BigInteger(), nullable=False, comment="Order inside the window, from 0."),
        sa.Column("offset_s", sa.Double(), nullable=False, comment="s from the first send to the begin of the period."),
        sa.Column("duration_s", sa.Double(), nullable=False, comment="s that it lasted."),
        sa.Column("samples", sa.BigInteger(), nullable=False, comment="Samples taken in it."),
        sa.Column("power_mean_w", sa.Double(), nullable=True, comment="W, mean; NULL: no GPU, or NVML did not say."),
        sa.Column("power_peak_w", sa.Double(), nullable=True, comment="W, highest; NULL: no GPU, or NVML did not say."),
        sa.Column(
            "gpu_memory_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Bytes used on the GPU, highest; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "sm_clock_mean_mhz", sa.Double(), nullable=True, comment="MHz, mean; NULL: no GPU, or NVML did not say."
        ),
        sa.Column(
            "memory_clock_mean_mhz", sa.Double(), nullable=True, comment="MHz, mean; NULL: no GPU, or NVML did not say."
        ),
        sa.Column(
            "temperature_peak_c",
            sa.Double(),
            nullable=True,
            comment="Degrees C, highest; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "gpu_utilization_mean",
            sa.Double(),
            nullable=True,
            comment="Share of time with a kernel running, 0-1, mean; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "throttled_share",
            sa.Double(),
            nullable=True,
            comment="Share of samples with clocks held down by heat, hardware slowdown or power brake, 0-1; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "power_capped_share",
            sa.Double(),
            nullable=True,
            comment="Share of samples with clocks held down by the power limit, 0-1; NULL: no GPU, or NVML did not say.",
        ),
        sa.Column(
            "server_cpu_cores",
            sa.Double(),
            nullable=True,
            comment="Cores that the server's processes kept busy; NULL: fewer than two samples of them.",
        ),
        sa.Column(
            "server_rss_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Bytes of resident memory of the server's processes, highest; NULL: not sampled in this period.",
        ),
        sa.Column(
            "kv_cache_usage_peak",
            sa.Double(),
            nullable=True,
            comment="KV cache in use, 0-1, highest; NULL: not asked in this period.",
        ),
        sa.ForeignKeyConstraint(
            ["sweep_id", "block_id", "start_index", "attempt", "cell_id", "repetition"],
            [
                "warehouse.measurement.sweep_id",
                "warehouse.measurement.block_id",
                "warehouse.measurement.start_index",
                "warehouse.measurement.attempt",
                "warehouse.measurement.cell_id",
                "warehouse.measurement.repetition",
            ],
            name=op.f("telemetry_measurement_fkey"),
            ondelete="cascade",
        ),
        sa.PrimaryKeyConstraint(
            "sweep_id",
            "block_id",
            "start_index",
            "attempt",
            "cell_id",
            "repetition",
            "period",
            name=op.f("telemetry_pkey"),
        ),
        schema="warehouse",
        comment="One row a period of about ten seconds of a measured window: what the machine did in it.",
    )
    op.add_column(
        "acceptance_position",
        sa.Column(
            "unconditional",
            sa.Double(),
            nullable=True,
            comment="accepted / drafts, 0-1. NULL: no draft, or loaded by an older release.",
        ),
        schema="staging",
    )
    op.add_column(
        "acceptance_position",
        sa.Column(
            "conditional",
            sa.Double(),
            nullable=True,
            comment="accepted / accepted at the position before (drafts at position 0), 0-1. NULL: nothing was accepted there, or loaded by an older release.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "faults",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="What marks it: under_delivered, client_busy, foreign_process, throttled; [] when nothing does. NULL: loaded by a release that did not judge.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "ttft_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms]. NULL: fewer than 100 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "ttft_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms]. NULL: fewer than 1000 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "e2e_latency_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms]. NULL: fewer than 100 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "e2e_latency_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms]. NULL: fewer than 1000 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "tpot_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms/token]. NULL: fewer than 100 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "tpot_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms/token]. NULL: fewer than 1000 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inter_chunk_latency_median_ms",
            sa.Double(),
            nullable=True,
            comment="median of the same [ms]. NULL: no request has two chunks.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inter_chunk_latency_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms]. NULL: fewer than 100 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inter_chunk_latency_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms]. NULL: fewer than 1000 requests have one.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "user_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="1000 / tpot_median_ms: what one user reads after the first token [tokens/s]. NULL: no request has tokens after its first chunk.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "steady_s",
            sa.Double(),
            nullable=True,
            comment="from the first moment at which the cell's concurrency is in flight to the last one; in an open loop from the first to the last scheduled send [s]. NULL: the window never held the cell's load (fewer requests than its concurrency), or lasted no time while it did.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "steady_output_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="tokens whose chunks arrived in the steady part of the window, of requests that succeeded / steady_s [tokens/s]. NULL: the window never held the cell's load (fewer requests than its concurrency), or lasted no time while it did.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "slo_ttft_ms",
            sa.Double(),
            nullable=True,
            comment="TTFT that goodput_per_s allows [ms]. NULL: no limit was stated (loaded by an older release).",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "slo_tpot_ms",
            sa.Double(),
            nullable=True,
            comment="TPOT that goodput_per_s allows [ms/token]. NULL: no limit was stated (loaded by an older release).",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "goodput_per_s",
            sa.Double(),
            nullable=True,
            comment="requests that succeeded with TTFT <= slo_ttft_ms and TPOT <= slo_tpot_ms (if it has one) / window_s [requests/s]. NULL: no request succeeded.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "delivered_concurrency",
            sa.Double(),
            nullable=True,
            comment="time integral of requests in flight over the steady part / (steady_s x concurrency): below 0.98 marked [1]. NULL: open loop; or the window never held the cell's load (fewer requests than its concurrency), or lasted no time while it did.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "send_delay_mean_ms",
            sa.Double(),
            nullable=True,
            comment="mean of sent - scheduled: what the client came late by [ms]. NULL: no request was sent.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "client_busiest_core_share",
            sa.Double(),
            nullable=True,
            comment="CPU time / wall time of the load client's busiest process: above 0.7 marked [1]. NULL: not recorded.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "compared_outputs",
            sa.BigInteger(),
            nullable=True,
            comment="outputs compared with the reference's of the same prompt [requests]. NULL: never compared: see identical_share.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "identical_share",
            sa.Double(),
            nullable=True,
            comment="outputs equal to the reference's, character by character / compared_outputs; the reference is the opening baseline's first repetition. Of a closing baseline it is the control [1]. NULL: temperature above 0, the reference itself, no opening baseline, or no request succeeded in both.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "first_difference_median_chars",
            sa.Double(),
            nullable=True,
            comment="median over outputs that differ of the characters before the first that differs [characters]. NULL: no output differs, or identical_share is undefined.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "first_difference_median_tokens",
            sa.Double(),
            nullable=True,
            comment="median over outputs that differ of the tokens in the chunks before the one with the first differing character [tokens]. NULL: no output differs, or the client did not record each chunk's characters.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "queue_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_queue_time_seconds_sum: over requests [s]. NULL: counter absent.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefill_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_prefill_time_seconds_sum: over requests [s]. NULL: counter absent.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "decode_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_decode_time_seconds_sum: over requests [s]. NULL: counter absent.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inference_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_inference_time_seconds_sum: over requests, prefill and decode [s]. NULL: counter absent.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "per_token_acceptance",
            sa.Double(),
            nullable=True,
            comment="the a that solves a + a^2 + ... + a^k = accepted_tokens / drafts, k = drafted_tokens / drafts: the theory's chance that one token holds [1]. NULL: no drafts, or more accepted than drafted.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "drafted_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="drafted_tokens / window_s [tokens/s]. NULL: no speculation counters.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "accepted_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="accepted_tokens / window_s [tokens/s]. NULL: no speculation counters.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "wasted_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="(drafted_tokens - accepted_tokens) / window_s [tokens/s]. NULL: no speculation counters.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "kv_cache_usage_peak",
            sa.Double(),
            nullable=True,
            comment="highest vllm:kv_cache_usage_perc (before 0.9.2 vllm:gpu_cache_usage_perc) seen in the window, asked every few s; of several engines the fullest [1]. NULL: not sampled: no telemetry, or a window shorter than the time to the first question.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefix_cache_queries",
            sa.BigInteger(),
            nullable=True,
            comment="difference of vllm:prefix_cache_queries_total (or of its old name vllm:gpu_prefix_cache_queries_total, which first counted blocks) [tokens]. NULL: counter absent.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefix_cache_hits",
            sa.BigInteger(),
            nullable=True,
            comment="difference of vllm:prefix_cache_hits_total (or of vllm:gpu_prefix_cache_hits_total) [tokens]. NULL: counter absent.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefix_cache_hit_rate",
            sa.Double(),
            nullable=True,
            comment="prefix_cache_hits / prefix_cache_queries [1]. NULL: nothing was looked up.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "model_memory_tax_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="weights as loaded by this start - by the block's opening baseline (closing, if that said nothing) [bytes]. NULL: a baseline; or one of the two logs does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "kv_cache_tokens_lost",
            sa.BigInteger(),
            nullable=True,
            comment="KV cache tokens of the block's opening baseline (closing, if that said nothing) - of this start [tokens]. NULL: a baseline; or one of the two logs does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "users_lost",
            sa.Double(),
            nullable=True,
            comment="kv_cache_tokens_lost / mean prompt + output tokens of this window's requests [users]. NULL: as kv_cache_tokens_lost; or no request succeeded.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "chunk_token_gap",
            sa.BigInteger(),
            nullable=True,
            comment="sum of cumulative tokens at the last chunk - output_tokens, of requests that succeeded: 0 when chunks and usage agree [tokens]. NULL: no request succeeded with a chunk that counted tokens.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "server_ttft_mean_ms",
            sa.Double(),
            nullable=True,
            comment="1000 x difference of vllm:time_to_first_token_seconds_sum / of its _count [ms]. NULL: no first token was counted.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "ttft_gap_ms",
            sa.Double(),
            nullable=True,
            comment="ttft_mean_ms - server_ttft_mean_ms: network, HTTP, and the client's own lateness [ms]. NULL: either is undefined, or a request failed: then they are not of the same requests.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "energy_joules",
            sa.Double(),
            nullable=True,
            comment="difference of NVML's total energy over the window, between samples [J]. NULL: no GPU, no telemetry, or NVML does not say; or no sample before and after the window.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "joules_per_output_token",
            sa.Double(),
            nullable=True,
            comment="energy_joules / output_tokens [J/token]. NULL: as energy_joules; or no output token.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "power_mean_w",
            sa.Double(),
            nullable=True,
            comment="energy_joules / window_s; without it mean of power samples [W]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "power_peak_w",
            sa.Double(),
            nullable=True,
            comment="highest power sample [W]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "sm_clock_mean_mhz",
            sa.Double(),
            nullable=True,
            comment="mean of samples [MHz]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "memory_clock_mean_mhz",
            sa.Double(),
            nullable=True,
            comment="mean of samples [MHz]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "temperature_peak_c",
            sa.Double(),
            nullable=True,
            comment="highest sample [degrees C]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "gpu_utilization_mean",
            sa.Double(),
            nullable=True,
            comment="mean of samples: share of time with a kernel running [1]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "gpu_memory_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="highest sample of memory used on the GPU [bytes]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "throttled_share",
            sa.Double(),
            nullable=True,
            comment="samples with clocks held down by heat, a hardware slowdown or the power brake / samples: above 0.05 marked [1]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "power_capped_share",
            sa.Double(),
            nullable=True,
            comment="samples with clocks held down by the power limit / samples: the load's doing, not marked [1]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "foreign_processes",
            sa.BigInteger(),
            nullable=True,
            comment="most compute processes seen at once on the GPU that are not of the server's tree: above 0 marked [processes]. NULL: no GPU, no telemetry, or NVML does not say; or NVML names processes by ids of another namespace.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "server_cpu_cores",
            sa.Double(),
            nullable=True,
            comment="CPU time of the server's process tree in the window / time between its samples [cores]. NULL: no telemetry.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "server_rss_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="highest sum of resident memory over the server's process tree [bytes]. NULL: no telemetry.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "telemetry_samples",
            sa.BigInteger(),
            nullable=True,
            comment="samples taken inside the window [samples]. NULL: no telemetry.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "telemetry_errors",
            sa.BigInteger(),
            nullable=True,
            comment="questions that NVML, the process table or /metrics did not answer [errors]. NULL: no telemetry.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "usd_per_gpu_hour",
            sa.Double(),
            nullable=True,
            comment="price of one GPU-hour, as set when it was ingested [USD/h]. NULL: none was stated, or no GPU.",
        ),
        schema="staging",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "usd_per_million_output_tokens",
            sa.Double(),
            nullable=True,
            comment="usd_per_gpu_hour x GPUs x window_s / 3600 / output_tokens x 1e6 [USD]. NULL: no price was stated, no GPU, or no output token.",
        ),
        schema="staging",
    )
    op.alter_column(
        "measurement",
        "tpot_mean_ms",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="mean of (last chunk - first chunk) / (output_tokens - tokens in the first chunk) [ms/token]. NULL: no request has tokens after its first chunk.",
        existing_comment="mean over requests of (last chunk - first chunk) / (output_tokens - tokens in the first chunk) [ms/token]. NULL: no request has tokens after its first chunk.",
        existing_nullable=True,
        schema="staging",
    )
    op.alter_column(
        "measurement",
        "inter_chunk_latency_mean_ms",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="mean of time between chunks with tokens (a chunk can hold several tokens: this is not ITL) [ms]. NULL: no request has two chunks.",
        existing_comment="mean time between chunks with tokens (a chunk can hold several tokens: this is not ITL) [ms]. NULL: no request has two chunks.",
        existing_nullable=True,
        schema="staging",
    )
    op.alter_column(
        "measurement",
        "client_cpu_share",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="CPU time of the load client / (window_s x its processes): above 0.7 marked [1]. NULL: not recorded.",
        existing_comment="CPU time of the load client / window_s: above 0.7 the client may be the bottleneck [1]. NULL: not recorded.",
        existing_nullable=True,
        schema="staging",
    )
    op.alter_column(
        "measurement",
        "engine_steps",
        existing_type=sa.BIGINT(),
        comment="difference of vllm:inter_token_latency_seconds_count (before 0.10.2 vllm:time_per_output_token_seconds_count): one sample a step and request, not a token [steps]. NULL: counter absent.",
        existing_comment="difference of vllm:inter_token_latency_seconds_count: one sample a step and request, not a token [steps]. NULL: counter absent (before 0.10.2).",
        existing_nullable=True,
        schema="staging",
    )
    op.alter_column(
        "measurement",
        "step_time_ms",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="1000 x difference of the _sum beside engine_steps' _count / engine_steps [ms]. NULL: no engine step was counted.",
        existing_comment="1000 x difference of vllm:inter_token_latency_seconds_sum / engine_steps [ms]. NULL: no engine step was counted.",
        existing_nullable=True,
        schema="staging",
    )
    op.add_column(
        "acceptance_position",
        sa.Column(
            "unconditional",
            sa.Double(),
            nullable=True,
            comment="accepted / drafts, 0-1. NULL: no draft, or loaded by an older release.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "acceptance_position",
        sa.Column(
            "conditional",
            sa.Double(),
            nullable=True,
            comment="accepted / accepted at the position before (drafts at position 0), 0-1. NULL: nothing was accepted there, or loaded by an older release.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "hardware",
        sa.Column("power_limit_w", sa.BigInteger(), nullable=True, comment="W, as enforced; NULL on CPU or unknown."),
        schema="warehouse",
    )
    op.add_column(
        "hardware",
        sa.Column(
            "max_sm_clock_mhz", sa.BigInteger(), nullable=True, comment="MHz, highest SM clock; NULL on CPU or unknown."
        ),
        schema="warehouse",
    )
    op.add_column(
        "hardware",
        sa.Column(
            "max_memory_clock_mhz",
            sa.BigInteger(),
            nullable=True,
            comment="MHz, highest memory clock; NULL on CPU or unknown.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "hardware",
        sa.Column(
            "ecc", sa.Boolean(), nullable=True, comment="Whether memory is checked (ECC); NULL on CPU or unknown."
        ),
        schema="warehouse",
    )
    op.add_column(
        "hardware",
        sa.Column(
            "mig", sa.Boolean(), nullable=True, comment="Whether the GPU is in MIG mode; NULL on CPU or unknown."
        ),
        schema="warehouse",
    )
    op.alter_column(
        "load",
        "rows",
        existing_type=sa.BIGINT(),
        comment="Rows staged: measurements, positions, requests and telemetry.",
        existing_comment="Rows staged: measurements, positions and requests.",
        existing_nullable=False,
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "faults",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="What marks it: under_delivered, client_busy, foreign_process, throttled; [] when nothing does. NULL: loaded by a release that did not judge.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "ttft_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms]. NULL: fewer than 100 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "ttft_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms]. NULL: fewer than 1000 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "e2e_latency_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms]. NULL: fewer than 100 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "e2e_latency_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms]. NULL: fewer than 1000 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "tpot_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms/token]. NULL: fewer than 100 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "tpot_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms/token]. NULL: fewer than 1000 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inter_chunk_latency_median_ms",
            sa.Double(),
            nullable=True,
            comment="median of the same [ms]. NULL: no request has two chunks.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inter_chunk_latency_p90_ms",
            sa.Double(),
            nullable=True,
            comment="90th percentile of the same, between order statistics [ms]. NULL: fewer than 100 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inter_chunk_latency_p99_ms",
            sa.Double(),
            nullable=True,
            comment="99th percentile of the same, between order statistics [ms]. NULL: fewer than 1000 requests have one.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "user_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="1000 / tpot_median_ms: what one user reads after the first token [tokens/s]. NULL: no request has tokens after its first chunk.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "steady_s",
            sa.Double(),
            nullable=True,
            comment="from the first moment at which the cell's concurrency is in flight to the last one; in an open loop from the first to the last scheduled send [s]. NULL: the window never held the cell's load (fewer requests than its concurrency), or lasted no time while it did.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "steady_output_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="tokens whose chunks arrived in the steady part of the window, of requests that succeeded / steady_s [tokens/s]. NULL: the window never held the cell's load (fewer requests than its concurrency), or lasted no time while it did.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "slo_ttft_ms",
            sa.Double(),
            nullable=True,
            comment="TTFT that goodput_per_s allows [ms]. NULL: no limit was stated (loaded by an older release).",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "slo_tpot_ms",
            sa.Double(),
            nullable=True,
            comment="TPOT that goodput_per_s allows [ms/token]. NULL: no limit was stated (loaded by an older release).",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "goodput_per_s",
            sa.Double(),
            nullable=True,
            comment="requests that succeeded with TTFT <= slo_ttft_ms and TPOT <= slo_tpot_ms (if it has one) / window_s [requests/s]. NULL: no request succeeded.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "delivered_concurrency",
            sa.Double(),
            nullable=True,
            comment="time integral of requests in flight over the steady part / (steady_s x concurrency): below 0.98 marked [1]. NULL: open loop; or the window never held the cell's load (fewer requests than its concurrency), or lasted no time while it did.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "send_delay_mean_ms",
            sa.Double(),
            nullable=True,
            comment="mean of sent - scheduled: what the client came late by [ms]. NULL: no request was sent.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "client_busiest_core_share",
            sa.Double(),
            nullable=True,
            comment="CPU time / wall time of the load client's busiest process: above 0.7 marked [1]. NULL: not recorded.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "compared_outputs",
            sa.BigInteger(),
            nullable=True,
            comment="outputs compared with the reference's of the same prompt [requests]. NULL: never compared: see identical_share.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "identical_share",
            sa.Double(),
            nullable=True,
            comment="outputs equal to the reference's, character by character / compared_outputs; the reference is the opening baseline's first repetition. Of a closing baseline it is the control [1]. NULL: temperature above 0, the reference itself, no opening baseline, or no request succeeded in both.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "first_difference_median_chars",
            sa.Double(),
            nullable=True,
            comment="median over outputs that differ of the characters before the first that differs [characters]. NULL: no output differs, or identical_share is undefined.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "first_difference_median_tokens",
            sa.Double(),
            nullable=True,
            comment="median over outputs that differ of the tokens in the chunks before the one with the first differing character [tokens]. NULL: no output differs, or the client did not record each chunk's characters.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "queue_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_queue_time_seconds_sum: over requests [s]. NULL: counter absent.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefill_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_prefill_time_seconds_sum: over requests [s]. NULL: counter absent.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "decode_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_decode_time_seconds_sum: over requests [s]. NULL: counter absent.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "inference_time_s",
            sa.Double(),
            nullable=True,
            comment="difference of vllm:request_inference_time_seconds_sum: over requests, prefill and decode [s]. NULL: counter absent.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "per_token_acceptance",
            sa.Double(),
            nullable=True,
            comment="the a that solves a + a^2 + ... + a^k = accepted_tokens / drafts, k = drafted_tokens / drafts: the theory's chance that one token holds [1]. NULL: no drafts, or more accepted than drafted.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "drafted_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="drafted_tokens / window_s [tokens/s]. NULL: no speculation counters.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "accepted_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="accepted_tokens / window_s [tokens/s]. NULL: no speculation counters.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "wasted_tokens_per_s",
            sa.Double(),
            nullable=True,
            comment="(drafted_tokens - accepted_tokens) / window_s [tokens/s]. NULL: no speculation counters.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "kv_cache_usage_peak",
            sa.Double(),
            nullable=True,
            comment="highest vllm:kv_cache_usage_perc (before 0.9.2 vllm:gpu_cache_usage_perc) seen in the window, asked every few s; of several engines the fullest [1]. NULL: not sampled: no telemetry, or a window shorter than the time to the first question.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefix_cache_queries",
            sa.BigInteger(),
            nullable=True,
            comment="difference of vllm:prefix_cache_queries_total (or of its old name vllm:gpu_prefix_cache_queries_total, which first counted blocks) [tokens]. NULL: counter absent.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefix_cache_hits",
            sa.BigInteger(),
            nullable=True,
            comment="difference of vllm:prefix_cache_hits_total (or of vllm:gpu_prefix_cache_hits_total) [tokens]. NULL: counter absent.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "prefix_cache_hit_rate",
            sa.Double(),
            nullable=True,
            comment="prefix_cache_hits / prefix_cache_queries [1]. NULL: nothing was looked up.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "model_memory_tax_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="weights as loaded by this start - by the block's opening baseline (closing, if that said nothing) [bytes]. NULL: a baseline; or one of the two logs does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "kv_cache_tokens_lost",
            sa.BigInteger(),
            nullable=True,
            comment="KV cache tokens of the block's opening baseline (closing, if that said nothing) - of this start [tokens]. NULL: a baseline; or one of the two logs does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "users_lost",
            sa.Double(),
            nullable=True,
            comment="kv_cache_tokens_lost / mean prompt + output tokens of this window's requests [users]. NULL: as kv_cache_tokens_lost; or no request succeeded.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "chunk_token_gap",
            sa.BigInteger(),
            nullable=True,
            comment="sum of cumulative tokens at the last chunk - output_tokens, of requests that succeeded: 0 when chunks and usage agree [tokens]. NULL: no request succeeded with a chunk that counted tokens.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "server_ttft_mean_ms",
            sa.Double(),
            nullable=True,
            comment="1000 x difference of vllm:time_to_first_token_seconds_sum / of its _count [ms]. NULL: no first token was counted.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "ttft_gap_ms",
            sa.Double(),
            nullable=True,
            comment="ttft_mean_ms - server_ttft_mean_ms: network, HTTP, and the client's own lateness [ms]. NULL: either is undefined, or a request failed: then they are not of the same requests.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "energy_joules",
            sa.Double(),
            nullable=True,
            comment="difference of NVML's total energy over the window, between samples [J]. NULL: no GPU, no telemetry, or NVML does not say; or no sample before and after the window.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "joules_per_output_token",
            sa.Double(),
            nullable=True,
            comment="energy_joules / output_tokens [J/token]. NULL: as energy_joules; or no output token.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "power_mean_w",
            sa.Double(),
            nullable=True,
            comment="energy_joules / window_s; without it mean of power samples [W]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "power_peak_w",
            sa.Double(),
            nullable=True,
            comment="highest power sample [W]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "sm_clock_mean_mhz",
            sa.Double(),
            nullable=True,
            comment="mean of samples [MHz]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "memory_clock_mean_mhz",
            sa.Double(),
            nullable=True,
            comment="mean of samples [MHz]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "temperature_peak_c",
            sa.Double(),
            nullable=True,
            comment="highest sample [degrees C]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "gpu_utilization_mean",
            sa.Double(),
            nullable=True,
            comment="mean of samples: share of time with a kernel running [1]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "gpu_memory_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="highest sample of memory used on the GPU [bytes]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "throttled_share",
            sa.Double(),
            nullable=True,
            comment="samples with clocks held down by heat, a hardware slowdown or the power brake / samples: above 0.05 marked [1]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "power_capped_share",
            sa.Double(),
            nullable=True,
            comment="samples with clocks held down by the power limit / samples: the load's doing, not marked [1]. NULL: no GPU, no telemetry, or NVML does not say.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "foreign_processes",
            sa.BigInteger(),
            nullable=True,
            comment="most compute processes seen at once on the GPU that are not of the server's tree: above 0 marked [processes]. NULL: no GPU, no telemetry, or NVML does not say; or NVML names processes by ids of another namespace.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "server_cpu_cores",
            sa.Double(),
            nullable=True,
            comment="CPU time of the server's process tree in the window / time between its samples [cores]. NULL: no telemetry.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "server_rss_peak_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="highest sum of resident memory over the server's process tree [bytes]. NULL: no telemetry.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "telemetry_samples",
            sa.BigInteger(),
            nullable=True,
            comment="samples taken inside the window [samples]. NULL: no telemetry.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "telemetry_errors",
            sa.BigInteger(),
            nullable=True,
            comment="questions that NVML, the process table or /metrics did not answer [errors]. NULL: no telemetry.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "usd_per_gpu_hour",
            sa.Double(),
            nullable=True,
            comment="price of one GPU-hour, as set when it was ingested [USD/h]. NULL: none was stated, or no GPU.",
        ),
        schema="warehouse",
    )
    op.add_column(
        "measurement",
        sa.Column(
            "usd_per_million_output_tokens",
            sa.Double(),
            nullable=True,
            comment="usd_per_gpu_hour x GPUs x window_s / 3600 / output_tokens x 1e6 [USD]. NULL: no price was stated, no GPU, or no output token.",
        ),
        schema="warehouse",
    )
    op.alter_column(
        "measurement",
        "tpot_mean_ms",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="mean of (last chunk - first chunk) / (output_tokens - tokens in the first chunk) [ms/token]. NULL: no request has tokens after its first chunk.",
        existing_comment="mean over requests of (last chunk - first chunk) / (output_tokens - tokens in the first chunk) [ms/token]. NULL: no request has tokens after its first chunk.",
        existing_nullable=True,
        schema="warehouse",
    )
    op.alter_column(
        "measurement",
        "inter_chunk_latency_mean_ms",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="mean of time between chunks with tokens (a chunk can hold several tokens: this is not ITL) [ms]. NULL: no request has two chunks.",
        existing_comment="mean time between chunks with tokens (a chunk can hold several tokens: this is not ITL) [ms]. NULL: no request has two chunks.",
        existing_nullable=True,
        schema="warehouse",
    )
    op.alter_column(
        "measurement",
        "client_cpu_share",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="CPU time of the load client / (window_s x its processes): above 0.7 marked [1]. NULL: not recorded.",
        existing_comment="CPU time of the load client / window_s: above 0.7 the client may be the bottleneck [1]. NULL: not recorded.",
        existing_nullable=True,
        schema="warehouse",
    )
    op.alter_column(
        "measurement",
        "engine_steps",
        existing_type=sa.BIGINT(),
        comment="difference of vllm:inter_token_latency_seconds_count (before 0.10.2 vllm:time_per_output_token_seconds_count): one sample a step and request, not a token [steps]. NULL: counter absent.",
        existing_comment="difference of vllm:inter_token_latency_seconds_count: one sample a step and request, not a token [steps]. NULL: counter absent (before 0.10.2).",
        existing_nullable=True,
        schema="warehouse",
    )
    op.alter_column(
        "measurement",
        "step_time_ms",
        existing_type=sa.DOUBLE_PRECISION(precision=53),
        comment="1000 x difference of the _sum beside engine_steps' _count / engine_steps [ms]. NULL: no engine step was counted.",
        existing_comment="1000 x difference of vllm:inter_token_latency_seconds_sum / engine_steps [ms]. NULL: no engine step was counted.",
        existing_nullable=True,
        schema="warehouse",
    )


def downgrade() -> None:
    """Refuse: migrations only go forward. Restore a backup instead."""
    raise NotImplementedError
