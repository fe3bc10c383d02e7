"""What may stand on one page: exactly one hardware, target, kind of weights and of acceptance. Pure; no Streamlit."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
from packaging.version import InvalidVersion, Version


@dataclass(frozen=True, slots=True)
class Scope:
    """What a page asks the warehouse for."""

    hardware_id: str
    target: str
    weights: str
    acceptance: str
    engine_version: str | None = None  # None on pages that show all releases


@dataclass(frozen=True, slots=True)
class Choice:
    """One control: its options as a person reads them, newest or first first, and what each stands for."""

    column: str
    options: dict[str, Any]

    @property
    def labels(self) -> list[str]:
        """The texts to choose from."""
        return list(self.options)

    def narrow(self, rows: pd.DataFrame, label: str) -> pd.DataFrame:
        """Return the rows of one option; of the first when `label` is not among them (an old link)."""
        return rows[rows[self.column] == self.value(label)]

    def value(self, label: str) -> Any:
        """Return what an option stands for."""
        return self.options.get(label, next(iter(self.options.values())))


def hardware_choice(rows: pd.DataFrame) -> Choice:
    """Offer each hardware, the most recently measured first; two of the same name get their ids."""
    newest = rows.sort_values("last_sweep_at", ascending=False, na_position="last", kind="stable")
    known = newest.drop_duplicates("hardware_id")
    alike = known["hardware_label"].duplicated(keep=False)
    names = known["hardware_label"].where(~alike, known["hardware_label"] + " · " + known["hardware_id"])
    return Choice("hardware_id", dict(zip(names, known["hardware_id"], strict=True)))


def version_choice(rows: pd.DataFrame) -> Choice:
    """Offer each vLLM release, the highest first."""
    released = reversed(versions(rows))
    return Choice("engine_version", {version: version for version in released})


def value_choice(rows: pd.DataFrame, column: str) -> Choice:
    """Offer each value of a column, in alphabetical order (so `real` comes before `synthetic`)."""
    values = sorted(rows[column].dropna().unique())
    return Choice(column, {str(value): value for value in values})


def weights_choice(rows: pd.DataFrame) -> Choice:
    """Offer each kind of weights, real ones first."""
    values = sorted(rows["weights"].dropna().unique(), reverse=True)
    return Choice("weights", {value: value for value in values})


def versions(rows: pd.DataFrame) -> list[str]:
    """Return the vLLM releases of `rows` in release order."""
    return sorted(rows["engine_version"].dropna().unique(), key=version_key)


def version_key(version: str) -> tuple[int, Version | str]:
    """Order releases as releases; what is no version comes first, as text."""
    try:
        return (1, Version(version))
    except InvalidVersion:
        return (0, version)
