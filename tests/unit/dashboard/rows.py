"""Rows as the views return them, with round numbers."""

from typing import Any

import pandas as pd

ROW: dict[str, Any] = {
    "sweep_id": "s1",
    "sweep_at": pd.Timestamp("2026-01-01T02:00:00Z"),
    "matrix_name": "smoke",
    "trigger": "test",
    "engine_version": "0.32.0",
    "hardware_id": "h1",
    "hardware_kind": "cpu",
    "hardware_label": "cpu · Test CPU · 2 cores",
    "target": "tiny",
    "weights": "real",
    "acceptance": "real",
    "method": "ngram",
    "method_name": "ngram-k4",
    "workload": "structured",
    "category": "structured",
    "prompts": 8,
    "output_tokens": 48,
    "temperature": 0.0,
    "concurrency": 1,
    "arrival": "closed",
    "request_rate": None,
    "prompt_tokens": None,
    "guided": False,
    "cell_id": "c1",
    "series_id": "r1",
    "status": "measured",
    "reason": None,
    "verdict": "worth_it",
    "harmful": False,
    "margin": 1.05,
    "metric": "latency_speedup",
    "estimate": 2.0,
    "lower": 1.5,
    "upper": 2.5,
    "probability_of_loss": 0.0,
    "pairs": 8,
    "dropped_prompts": 0,
    "repetitions": 2,
    "arm_starts": 1,
    "baseline_starts": 2,
    "aa_log_ratio": 0.0,
    "start_variance_source": "history",
    "mean_acceptance_length": 3.0,
    "baseline_output_tokens_per_s": 10.0,
    "speculative_output_tokens_per_s": 20.0,
    "baseline_model_runner": "V1",
    "speculative_model_runner": "V1",
    "baseline_async_scheduling": True,
    "speculative_async_scheduling": True,
    "baseline_attention_backend": "CPU",
    "speculative_attention_backend": "CPU",
    "arm": "ngram-k4",
    "label": "ngram-k4 · c=1",
}


def rows(*changes: dict[str, Any]) -> pd.DataFrame:
    """Return one row for each set of changes to ROW."""
    return pd.DataFrame([ROW | change for change in changes])
