"""Prompt sets, content-hashed."""
