"""The order of a block, and what is left of an interrupted one: pure."""
