"""The coverage of pipeline in the closing summary, and the bar for its branches alone, when pytest runs with --cov."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

BAR = 92.0  # per cent of the branches, as coverage's own `fail_under` is of lines and branches together
SHOWN = 5


@dataclass(frozen=True)
class Covered:
    """What coverage.py wrote, in per cent."""

    total: float  # lines and branches
    branches: float
    count: int
    least: tuple[str, ...]  # files with the most branches that no test takes

    @property
    def sentence(self) -> str:
        """One line for a person."""
        verdict = "" if self.branches >= BAR else f"; at least {BAR:.0f}% of the branches are asked for"
        return f"pipeline: {self.branches:.1f}% of {self.count} branches, {self.total:.1f}% with lines{verdict}"


def read(report: Path) -> Covered:
    """Return the totals in coverage's JSON report."""
    found = json.loads(report.read_text(encoding="utf-8"))
    totals = found["totals"]
    missing = {name: file["summary"]["missing_branches"] for name, file in found["files"].items()}
    most = sorted((name for name, count in missing.items() if count), key=lambda name: (-missing[name], name))
    return Covered(
        total=totals["percent_covered"],
        branches=100 * totals["covered_branches"] / max(1, totals["num_branches"]),
        count=totals["num_branches"],
        least=tuple(f"{name} ({missing[name]})" for name in most[:SHOWN]),
    )


class BranchBar:
    """A plugin of the process that collects every worker's coverage."""

    def __init__(self, report: Path) -> None:
        self._report = report
        self._found: Covered | None = None
        report.unlink(missing_ok=True)  # of an earlier run

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session that is green but for its branches."""
        if self._report.exists():
            self._found = read(self._report)
            if self._found.branches < BAR and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is covered, and where the most is missing."""
        if self._found:
            terminalreporter.section("coverage of pipeline")
            terminalreporter.line(self._found.sentence)
            if self._found.least:
                terminalreporter.line(f"most branches untaken: {', '.join(self._found.least)}")
