"""The line no chart crosses: one hardware, one target, one kind of weights and of acceptance."""

import pandas as pd

COMPARABLE = ("hardware_id", "target", "weights", "acceptance")


class MixedEvidence(ValueError):
    """Rows that may not be compared reached a chart: a bug of the page that sent them."""


def refuse_mixtures(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `rows` as they are; raise MixedEvidence when they hold two of what is never compared."""
    for column in COMPARABLE:
        if column in rows:
            values = set(rows[column].dropna())
            if len(values) > 1:
                message = f"one chart would mix {column}: {', '.join(sorted(map(str, values)))}"
                raise MixedEvidence(message)
    return rows
