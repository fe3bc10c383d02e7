"""Engine steps as a request sees them: how many, how long, and how many tokens each gave.

`engine_steps` samples of vllm:inter_token_latency_seconds (time_per_output_token_seconds before 0.10.2): one a step and
request, not a token. `tokens_per_step` (generated tokens - requests) / engine_steps: a request's first token is
prefill's, and steps in which nothing was drafted count, so this is what a step really gives. `step_time_ms` time of
those samples / engine_steps. Undefined when no step was counted: absent counter, or outputs of one token.
"""

from pipeline.measure.ratio import ratio
from pipeline.measure.window import MeasuredWindow, Metrics


def steps(window: MeasuredWindow) -> Metrics:
    """Return engine steps, their time, and tokens a step."""
    counters = window.counters
    generated, seconds = counters.generated_tokens, counters.step_seconds
    later = None if generated is None else generated - len(window.records)
    return {
        "engine_steps": counters.engine_steps,
        "tokens_per_step": ratio(later, counters.engine_steps),
        "step_time_ms": ratio(None if seconds is None else seconds * 1e3, counters.engine_steps),
    }
