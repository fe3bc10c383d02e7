"""Speedups, intervals, verdicts and their reasons: pure, from rows that someone else read."""
