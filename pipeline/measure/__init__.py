"""Records and counter differences to metrics: pure."""
