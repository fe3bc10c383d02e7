"""vLLM releases: one environment each, what each can do, its argv, its start-up log."""
