"""Request rows wait on disk, and come back as they were."""

from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.measure.requests import rows
from pipeline.steps.spool import Spool
from tests.support.values import make_record
from tests.support.warehouse import block, keys


def test_rows_come_back_in_order_but_those_left_out() -> None:
    spool = Spool()
    found = [key for _, key in keys(block())]
    records = rows(
        [make_record(chunks=((10, 1), (20, 4))), make_record(index=1, error="timeout")],
        origin_ns=3,
        phases=["steady", None],
    )
    for key in found:
        spool.add(key, records)
    assert list(spool.rows()) == [(key, row) for key in found for row in records]
    arm = (found[2].start_index, found[2].cell_id)
    kept = [key for key in found if (key.start_index, key.cell_id) != arm]
    assert [key for key, _ in spool.rows(without=frozenset({arm}))] == [key for key in kept for _ in records]


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool()
    with Path("/dev/full").open("r+b", buffering=0) as full:
        monkeypatch.setattr(spool, "_file", full)
        with pytest.raises(EnvironmentFault, match="takes no more"):
            spool.add(keys(block())[0][1], rows([make_record()], origin_ns=0, phases=[None]))


def test_nothing_is_left_in_the_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool()
    spool.add(keys(block())[0][1], rows([make_record()], origin_ns=0, phases=[None]))
    assert list(tmp_path.iterdir()) == []
