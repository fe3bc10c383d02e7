"""/metrics through prometheus_client, as vLLM writes it: so names, `_created` twins and buckets have the same form."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from vllm.fake.release import Release

LATENCY_BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")


class Metrics:
    """One set of counters; a new object is a restarted server."""

    def __init__(self, *, model: str, config: dict[str, Any] | None, kv_tokens: int, release: Release) -> None:
        self._registry = CollectorRegistry()
        self._labels = {"model_name": model, "engine": "0"}
        self._release = release
        self._k = int(config["num_speculative_tokens"]) if config else 0
        if self._k:
            self._speculation()
        self.running = self._gauge("num_requests_running", "Number of requests in model execution batches.")
        self.waiting = self._gauge("num_requests_waiting", "Number of requests waiting to be processed.")
        for name in ("kv_cache_usage_perc", "gpu_cache_usage_perc"):
            if release.has_metric(name):
                self._gauge(name, "KV-cache usage. 1 means 100 percent usage.")
        self._counter("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.")
        self._counter("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.")
        self.prompt_tokens = self._counter("prompt_tokens", "Number of prefill tokens processed.")
        self.generation_tokens = self._counter("generation_tokens", "Number of generation tokens processed.")
        self.preemptions = self._counter("num_preemptions", "Cumulative number of preemption from the engine.")
        self._success = Counter(
            "vllm:request_success",
            "Count of successfully processed requests.",
            [*self._labels, "finished_reason"],
            registry=self._registry,
        )
        for reason in FINISH_REASONS:
            self._success.labels(**self._labels, finished_reason=reason)
        self.ttft = self._histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.")
        self._step_times = self._histograms("inter_token_latency_seconds", "time_per_output_token_seconds")
        self._request_tpot = self._histograms("request_time_per_output_token_seconds")
        self.e2e = self._histogram("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.")
        self._cache_config(kv_tokens)

    def step(self, seconds: float) -> None:
        """Count one engine step of one request, however many tokens it made."""
        for metric in self._step_times:
            metric.observe(seconds)

    def draft(self, *, drafted: int, accepted: int) -> None:
        """Count one draft; a step where nothing was drafted is not counted."""
        if not drafted or not self._k:
            return
        self._drafts.inc()
        self._draft_tokens.inc(drafted)
        self._accepted.inc(accepted)
        for position in range(accepted):
            self._per_position.labels(**self._labels, position=str(position)).inc()

    def finished(self, reason: str, *, seconds: float, decode_seconds: float, tokens: int) -> None:
        """Count one finished request; its decode time is that after the first token."""
        self._success.labels(**self._labels, finished_reason=reason).inc()
        self.e2e.observe(seconds)
        for metric in self._request_tpot:
            metric.observe(decode_seconds / (tokens - 1) if tokens > 1 else 0.0)

    def text(self) -> bytes:
        """Return the exposition text."""
        return generate_latest(self._registry)

    def _speculation(self) -> None:
        self._drafts = self._counter("spec_decode_num_drafts", "Number of spec decoding drafts.")
        self._draft_tokens = self._counter("spec_decode_num_draft_tokens", "Number of draft tokens.")
        self._accepted = self._counter("spec_decode_num_accepted_tokens", "Number of accepted tokens.")
        self._per_position = Counter(
            "vllm:spec_decode_num_accepted_tokens_per_pos",
            "Accepted tokens per draft position.",
            [*self._labels, "position"],
            registry=self._registry,
        )
        for position in range(self._k):
            self._per_position.labels(**self._labels, position=str(position))

    def _cache_config(self, kv_tokens: int) -> None:
        """A gauge that is 1; what it says is in its labels. The real one has thirty."""
        labels = {"engine": "0", "enable_prefix_caching": "False"}
        if self._release.has_metric("cache_config_info.kv_cache_size_tokens"):
            labels["kv_cache_size_tokens"] = str(kv_tokens)
        text = "Information of the LLMEngine CacheConfig"
        Gauge("vllm:cache_config_info", text, list(labels), registry=self._registry).labels(**labels).set(1)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"vllm:{name}", text, list(self._labels), registry=self._registry).labels(**self._labels)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"vllm:{name}", text, list(self._labels), registry=self._registry).labels(**self._labels)

    def _histogram(self, name: str, text: str) -> Histogram:
        names = list(self._labels)
        metric = Histogram(f"vllm:{name}", text, names, registry=self._registry, buckets=LATENCY_BUCKETS)
        return metric.labels(**self._labels)

    def _histograms(self, *names: str) -> list[Histogram]:
        """Those of `names` that this release has."""
        return [self._histogram(name, f"Histogram of {name}.") for name in names if self._release.has_metric(name)]
