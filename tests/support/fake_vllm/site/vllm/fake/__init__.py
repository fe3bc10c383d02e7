"""How the stand-in works; the modules under `entrypoints` only carry vLLM's names."""
