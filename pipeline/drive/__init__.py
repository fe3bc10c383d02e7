"""Sending the prompts: times when bytes arrive, parsing afterwards."""
