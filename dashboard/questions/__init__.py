"""A page a question."""
