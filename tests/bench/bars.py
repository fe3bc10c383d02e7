"""How a bar is stated: one table for a person, one JSON line a bar, the lines kept in bench-results/NAME.jsonl."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "bench-results"


@dataclass(frozen=True)
class Bar:
    """One measured figure against its goal. `value` None: it could not be measured here, `why` says why."""

    bar: str
    value: float | None
    unit: str
    goal: float
    at_most: bool = True  # False: the goal is a floor
    n: int = 1
    peers: Mapping[str, float] = field(default_factory=dict)  # what else was measured in the same run, by name
    why: str | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the goal is met; None when nothing was measured."""
        if self.value is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def line(self) -> str:
        """One JSON line."""
        return json.dumps(asdict(self) | {"holds": self.holds})


def publish(name: str, bars: Sequence[Bar]) -> None:
    """Print the table and the lines, and keep the lines."""
    width = max(len(bar.bar) for bar in bars)
    for bar in bars:
        mark = {True: "holds", False: "MISSED", None: "not measured"}[bar.holds]
        value = "-" if bar.value is None else f"{bar.value:.4g}"
        sign = "<=" if bar.at_most else ">="
        peers = "".join(f"  {peer} {figure:.4g}" for peer, figure in bar.peers.items())
        figures = f"{value:>8} {bar.unit:6} {sign} {bar.goal:<8g} n={bar.n:<3}"
        print(f"{bar.bar:{width}}  {figures} {mark}{peers} {bar.why or ''}")
    lines = [bar.line() for bar in bars]
    print("\n".join(lines))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
