"""What else differed: engine facts from the start-up logs that can explain a change without speculation."""

from itertools import pairwise
from typing import Any

import pandas as pd

FACTS = {
    "model_runner": "model runner",
    "async_scheduling": "async scheduling",
    "attention_backend": "attention backend",
}
ARMS = ("baseline", "speculative")


def between_versions(rows: pd.DataFrame, *, versions: list[str]) -> list[str]:
    """Return a sentence for each fact of an arm that differs between neighbouring versions."""
    sentences = []
    for old, new in pairwise(versions):
        for fact, name in FACTS.items():
            changes: dict[str, list[str]] = {}
            for arm in ARMS:
                before = _values(rows, version=old, column=f"{arm}_{fact}")
                after = _values(rows, version=new, column=f"{arm}_{fact}")
                if before and after and before != after:
                    changes.setdefault(f"{' or '.join(before)} to {' or '.join(after)}", []).append(arm)
            sentences += [f"vLLM {old} to {new}: {name} {change} ({_arms(arms)})" for change, arms in changes.items()]
    return sentences


def between_arms(rows: pd.DataFrame, *, versions: list[str]) -> list[str]:
    """Return a sentence for each fact in which an arm differs from its own baseline, with the versions it is so in."""
    found: dict[str, list[str]] = {}
    for version in versions:
        here = rows[rows["engine_version"] == version]
        for fact, name in FACTS.items():
            pairs = here[["arm", f"baseline_{fact}", f"speculative_{fact}"]].dropna().drop_duplicates()
            for arm, baseline, speculative in pairs.itertuples(index=False, name=None):
                if baseline != speculative:
                    sentence = f"{name} is {_word(speculative)} with {arm}, {_word(baseline)} in its baseline"
                    found.setdefault(sentence, []).append(version)
    return [f"{sentence} (vLLM {', '.join(dict.fromkeys(where))})" for sentence, where in found.items()]


def _values(rows: pd.DataFrame, *, version: str, column: str) -> list[str]:
    return sorted({_word(value) for value in rows.loc[rows["engine_version"] == version, column].dropna()})


def _arms(arms: list[str]) -> str:
    return "both arms" if len(arms) == len(ARMS) else f"{arms[0]} arm only"


def _word(value: Any) -> str:
    return {"True": "on", "False": "off"}.get(str(value), str(value))
