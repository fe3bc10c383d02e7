"""The proof that a restore runs on itself, as text."""

from pipeline.warehouse.backup import Manifest, TableSum
from pipeline.warehouse.backup_restore import is_newest, known_revisions, proof


def test_every_table_is_counted_and_summed_before_the_commit() -> None:
    tables = (TableSum("warehouse.cell", 2, "-17"), TableSum("staging.request", 0, "0"))
    script = proof(Manifest("0001", "18.0", "2026-01-01T00:00:00+00:00", tables, dump_bytes=1, dump_sha256=""))
    assert "set local timezone = 'UTC'" in script.splitlines()[0]
    cell, request = script.splitlines()[1:]
    assert 'from "warehouse"."cell" as t' in cell
    assert "found.rows <> 2 or found.checksum <> '-17'" in cell
    assert "'staging.request is not what was backed up: % rows, expected 0'" in request


def test_one_of_the_known_revisions_is_the_newest() -> None:
    assert sum(is_newest(revision) for revision in known_revisions()) == 1
