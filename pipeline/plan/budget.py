"""Which cells a budget of machine time buys: the most valuable first. Pure.

A speculative cell costs its own windows, and what it makes necessary: its arm's server start, the two baseline starts
of its block, its baseline's windows twice. What others before it need as well is paid already.

Value, most valuable first: cells of an engine that was never measured, then cells never measured, then cells whose
last verdict is undecided, then the one measured longest ago; what is alike keeps the order of the matrix.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.domain.cell import Cell
from pipeline.plan.estimate import Clock

REASON = "budget"


@dataclass(frozen=True, slots=True)
class History:
    """What is known of earlier nights; empty without any."""

    engines: frozenset[str] = frozenset()  # engine ids that were measured
    measured_at: Mapping[str, str] = field(default_factory=dict)  # cell id -> ISO 8601, UTC, of its last measurement
    undecided: frozenset[str] = frozenset()  # cell ids whose last verdict is undecided

    def value(self, cell: Cell) -> tuple[bool, bool, bool, str]:
        """Return a key that sorts the most valuable cell first; alike for all cells without a history."""
        at = self.measured_at.get(cell.cell_id)
        return (
            bool(self.engines) and cell.engine.engine_id in self.engines,
            bool(self.measured_at) and at is not None,
            bool(self.undecided) and cell.cell_id not in self.undecided,
            at or "",
        )


def beyond_budget(
    cells: Iterable[Cell], *, budget_s: float, clock: Clock, repetitions: int, history: History | None = None
) -> dict[str, str]:
    """Return the speculative cells that the budget does not buy, as cell id -> reason.

    `cells` are the speculative cells that can be measured, in the order of the matrix. A cell that does not fit is left
    out, and a cheaper one after it can still fit.
    """
    ordered: Sequence[Cell] = list(cells)
    if history is not None:
        ordered = sorted(ordered, key=history.value)
    paid: set[tuple[str, ...]] = set()
    spent = 0.0
    left_out: dict[str, str] = {}
    for cell in ordered:
        needs = {what: cost for what, cost in _needs(cell, clock=clock, repetitions=repetitions) if what not in paid}
        price = sum(needs.values())
        if spent + price > budget_s:
            left_out[cell.cell_id] = (
                f"{REASON}: {price / 3600:.2f} h more would exceed {budget_s / 3600:.3g} h; {spent / 3600:.2f} h went "
                "to more valuable cells"
            )
            continue
        spent += price
        paid.update(needs)
    return left_out


def _needs(cell: Cell, *, clock: Clock, repetitions: int) -> list[tuple[tuple[str, ...], float]]:
    block = (cell.engine.engine_id, cell.target.name)
    window = repetitions * clock.window_s(cell)
    baseline = cell.baseline()
    return [
        (("block", *block), 2 * clock.start_s(cell)),
        (("arm", *block, cell.method.method_id), clock.start_s(cell)),
        (("baseline", baseline.cell_id), 2 * repetitions * clock.window_s(baseline)),
        (("cell", cell.cell_id), window),
    ]
