"""What `specwatch export` understands before it asks a database."""

from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.cli.export import form_of, where_of
from pipeline.errors import UserError


def test_where_reads_pairs_and_a_key_twice_means_either() -> None:
    assert where_of(["sweep=s1,version=0.25.1", "sweep=s2"]) == {"sweep": ["s1", "s2"], "version": ["0.25.1"]}
    assert where_of(["hardware=cpu · A, B"]) == {"hardware": ["cpu · A, B"]}
    with pytest.raises(UserError, match="is no KEY=VALUE"):
        where_of(["s1"])


@pytest.mark.parametrize(
    ("chosen", "path", "as_json", "form"),
    [
        ("csv", "a.parquet", False, "csv"),
        (None, "a.parquet", False, "parquet"),
        (None, "a.jsonl", False, "json"),
        (None, None, False, "csv"),
        (None, None, True, "json"),
    ],
)
def test_the_format_is_chosen_or_said_by_the_ending(
    chosen: str | None, path: str | None, as_json: bool, form: str
) -> None:
    assert form_of(chosen, Path(path) if path else None, as_json=as_json) == form


def test_a_file_without_a_known_ending_needs_a_format() -> None:
    with pytest.raises(UserError, match="add --format"):
        form_of(None, Path("a.txt"), as_json=False)


@pytest.mark.parametrize(
    "argv", [["export"], ["export", "verdicts", "--all", "d"], ["export", "--all", "d", "-o", "f"]]
)
def test_what_is_asked_for_is_said_once(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.startswith("specwatch: ")
