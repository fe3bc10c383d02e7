"""/metrics through prometheus_client, as vLLM writes it: so names, `_created` twins and buckets have the same form."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LATENCY_BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")


class Metrics:
    """One set of counters; a new object is a restarted server."""

    def __init__(self, *, model: str, config: dict[str, Any] | None, kv_tokens: int) -> None:
        self._registry = CollectorRegistry()
        self._labels = {"model_name": model, "engine": "0"}
        self._k = int(config["num_speculative_tokens"]) if config else 0
        if self._k:
            self._speculation()
        self.running = self._gauge("vllm:num_requests_running", "Number of requests in model execution batches.")
        self.waiting = self._gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.")
        self.kv_usage = self._gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.")
        self.prompt_tokens = self._counter("vllm:prompt_tokens", "Number of prefill tokens processed.")
        self.generation_tokens = self._counter("vllm:generation_tokens", "Number of generation tokens processed.")
        self.preemptions = self._counter("vllm:num_preemptions", "Cumulative number of preemption from the engine.")
        self._success = Counter(
            "vllm:request_success",
            "Count of successfully processed requests.",
            [*self._labels, "finished_reason"],
            registry=self._registry,
        )
        for reason in FINISH_REASONS:
            self._success.labels(**self._labels, finished_reason=reason)
        self.ttft = self._histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.")
        self.itl = self._histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.")
        self.e2e = self._histogram("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.")
        info = Gauge(
            "vllm:cache_config_info",
            "Information of the LLMEngine CacheConfig",
            ["engine", "kv_cache_size_tokens"],
            registry=self._registry,
        )
        info.labels(engine="0", kv_cache_size_tokens=str(kv_tokens)).set(1)

    def draft(self, *, drafted: int, accepted: int) -> None:
        """Count one draft; a step where nothing was drafted is not counted."""
        if not drafted:
            return
        self._drafts.inc()
        self._draft_tokens.inc(drafted)
        self._accepted.inc(accepted)
        for position in range(accepted):
            self._per_position.labels(**self._labels, position=str(position)).inc()

    def finished(self, reason: str) -> None:
        """Count one finished request."""
        self._success.labels(**self._labels, finished_reason=reason).inc()

    def text(self) -> bytes:
        """Return the exposition text."""
        return generate_latest(self._registry)

    def _speculation(self) -> None:
        self._drafts = self._counter("vllm:spec_decode_num_drafts", "Number of spec decoding drafts.")
        self._draft_tokens = self._counter("vllm:spec_decode_num_draft_tokens", "Number of draft tokens.")
        self._accepted = self._counter("vllm:spec_decode_num_accepted_tokens", "Number of accepted tokens.")
        self._per_position = Counter(
            "vllm:spec_decode_num_accepted_tokens_per_pos",
            "Accepted tokens per draft position.",
            [*self._labels, "position"],
            registry=self._registry,
        )
        for position in range(self._k):
            self._per_position.labels(**self._labels, position=str(position))

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, list(self._labels), registry=self._registry).labels(**self._labels)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, list(self._labels), registry=self._registry).labels(**self._labels)

    def _histogram(self, name: str, text: str) -> Histogram:
        metric = Histogram(name, text, list(self._labels), registry=self._registry, buckets=LATENCY_BUCKETS)
        return metric.labels(**self._labels)
