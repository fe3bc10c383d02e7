"""What a person sees on a terminal, and what a script reads instead."""

import io
import sys

import pytest

from pipeline.cli.output import progress_bar, table
from tests.unit.cli.conftest import Terminal


def test_a_bar_names_what_runs_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress_bar("preparing") as (progress, _report):
        assert progress is not None
        progress(3, 16, "ngram-k4 c=1")
    shown = terminal.getvalue()
    assert "preparing" in shown
    assert "ngram-k4 c=1" in shown
    assert "3/16" in shown


def test_before_there_is_progress_the_bar_names_what_was_reported_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress_bar("starting") as (_progress, report):
        report("api-server: [ready]")
    assert "[ready]" in terminal.getvalue().rpartition("0:00:0")[2]


def test_where_nobody_looks_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", piped := io.StringIO())
    with progress_bar("preparing") as (progress, _report):
        assert progress is None
    assert piped.getvalue() == ""


def test_what_is_not_known_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name", "found"), [("driver", None), ("cores", 0)])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["driver", "-"] for line in lines)
    assert any(line.split() == ["cores", "0"] for line in lines)
