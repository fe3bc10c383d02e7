"""One vLLM process tree: fenced, started, ready or failed with a reason, ended."""
