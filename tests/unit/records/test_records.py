"""Run directories: whole or not there, checked by hash, never written twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.block import LAYOUT_VERSION, CellOutcome
from pipeline.domain.engine import EngineFacts
from pipeline.domain.hardware import Hardware
from pipeline.domain.request import ClientFacts
from pipeline.domain.server_start import Failure, ServerStart
from pipeline.domain.telemetry import TelemetrySample
from pipeline.errors import EnvironmentFault, UserError
from pipeline.records import files
from pipeline.records.block import (
    Host,
    SweepPlan,
    append_host,
    complete_repetitions,
    current_repetitions,
    read_block,
    read_hosts,
    read_result,
    read_starts,
    read_sweep,
    read_workloads,
    write_result,
    write_start,
    write_sweep,
)
from pipeline.records.layout import MANIFEST_FILE, TELEMETRY_FILE, attempt_directory, repetition_directory
from pipeline.records.repetition import Window, read_window, write_repetition
from pipeline.workloads.structured import STRUCTURED
from tests.support.values import SWEEP, make_block, make_record

WINDOW = Window(
    requests=(make_record(), make_record(index=1, error="timeout", chunks=())),
    before="before 1\n",
    after="after 2\n",
    started_at="2026-01-01T00:00:10+00:00",
    started_at_s=1767225610.0,
    ended_at_s=1767225611.0,
    origin_ns=5,
    client_cpu_s=0.01,
)


def write(directory: Path, window: Window = WINDOW) -> None:
    write_repetition(directory, window, start_index=1, attempt=1, position="arm", cell_id="c", repetition=1)


def hardware(name: str) -> Hardware:
    return Hardware("cpu", name, "x86_64", None, 0, 1, None, None, name, 2)


def host(name: str, *, recorded_at: str) -> Host:
    return Host(
        hardware=hardware(name), models=(), engine_packages={"torch": "1"}, hostname="h", recorded_at=recorded_at
    )


def test_a_repetition_comes_back_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "r")
    manifest, window = read_window(tmp_path / "r")
    assert window == WINDOW
    assert (manifest.start_index, manifest.position, manifest.cell_id) == (1, "arm", "c")


def test_telemetry_and_client_come_back_and_what_was_not_asked_takes_no_room(tmp_path: Path) -> None:
    window = replace(
        WINDOW,
        client=ClientFacts(cpu_s=0.1, processes=2, clock="kernel", busiest_core_share=0.3),
        telemetry=(TelemetrySample(at_ns=1, power_mw=0), TelemetrySample(at_ns=2, kv_cache_usage=0.5, errors=1)),
    )
    write(tmp_path / "r", window)
    manifest, found = read_window(tmp_path / "r")
    assert found == window
    lines = files.decompress((tmp_path / "r" / TELEMETRY_FILE).read_bytes(), name="t")
    assert lines.splitlines()[0] == b'{"at_ns":1,"power_mw":0,"errors":0}'
    assert TELEMETRY_FILE in manifest.files


def test_what_was_recorded_before_there_was_telemetry_has_none(tmp_path: Path) -> None:
    write(tmp_path / "r")
    assert read_window(tmp_path / "r")[1].telemetry is None
    assert not (tmp_path / "r" / TELEMETRY_FILE).exists()


def test_a_complete_repetition_is_never_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "r")
    with pytest.raises(RuntimeError, match="append-only"):
        write(tmp_path / "r")


def test_what_an_incomplete_try_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "requests.jsonl.zst").write_bytes(b"half")
    write(tmp_path / "r")
    assert read_window(tmp_path / "r")[1] == WINDOW


@pytest.mark.parametrize("name", ["requests.jsonl.zst", "before.prom.zst", "after.prom.zst"])
def test_a_changed_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    write(tmp_path / "r")
    path = tmp_path / "r" / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=rf"{name} does not match its manifest"):
        read_window(tmp_path / "r")


def test_a_newer_layout_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "r")
    path = tmp_path / "r" / MANIFEST_FILE
    path.write_text(path.read_text().replace(f'"layout_version": {LAYOUT_VERSION}', '"layout_version": 99'))
    with pytest.raises(
        UserError, match=r"MANIFEST\.json is of version 99, this release reads up to 1: update Specwatch"
    ):
        read_window(tmp_path / "r")


def test_an_older_layout_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "r")
    path = tmp_path / "r" / MANIFEST_FILE
    path.write_text(
        path.read_text().replace('"client_cpu_s"', '"cpu"').replace('"layout_version": 1', '"layout_version": 0')
    )

    def rename(document: dict) -> dict:
        return document | {"client_cpu_s": document["cpu"]}

    monkeypatch.setitem(files.UPGRADES, MANIFEST_FILE, {0: rename})
    assert read_window(tmp_path / "r")[1] == WINDOW


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EnvironmentFault, match=r"the disk is full: .*Free space there; what is complete is kept"):
        files.write_bytes(tmp_path / "x", b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written_is_named() -> None:
    with pytest.raises(EnvironmentFault, match="/dev/null/x could not be written: "):
        files.write_bytes(Path("/dev/null/x"), b"1")


def test_a_sweep_comes_back_as_it_was_planned(tmp_path: Path) -> None:
    block = make_block()
    plan = SweepPlan(layout_version=1, sweep=SWEEP, blocks=(block.block_id,))
    (path,) = write_sweep(tmp_path, plan, [block], workloads=[STRUCTURED])
    assert read_block(path) == block
    assert read_sweep(tmp_path) == plan
    assert read_workloads(path) == {STRUCTURED.workload_id: STRUCTURED}
    assert write_sweep(tmp_path, plan, [block], workloads=[STRUCTURED]) == [path]


def test_another_plan_under_the_same_id_is_refused(tmp_path: Path) -> None:
    block = make_block()
    plan = SweepPlan(layout_version=1, sweep=SWEEP, blocks=(block.block_id,))
    write_sweep(tmp_path, plan, [block], workloads=[STRUCTURED])
    with pytest.raises(UserError, match="another plan under the same sweep id"):
        write_sweep(tmp_path, plan, [make_block(repetitions=3)], workloads=[])


def test_a_directory_that_is_no_run_directory_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Is this a run directory of Specwatch\?"):
        read_block(tmp_path)


def test_a_start_comes_back_with_its_failure(tmp_path: Path) -> None:
    block = make_block()
    start = ServerStart(
        layout_version=1,
        index=1,
        attempt=2,
        position="arm",
        method_name="ngram-k4",
        argv=("python", "-m", "x"),
        environment={"A": "1"},
        started_at="2026-01-01T00:00:00+00:00",
        ready_s=None,
        facts=EngineFacts(model_runner="V2", warnings=("w",)),
        failure=Failure("out_of_memory", "m", "n", retryable=False),
    )
    write_start(attempt_directory(tmp_path, block.starts[1], 2), start)
    assert read_starts(tmp_path) == (start,)


def test_a_result_checks_its_manifests(tmp_path: Path) -> None:
    block = make_block()
    attempt = attempt_directory(tmp_path, block.starts[1], 1)
    write(repetition_directory(attempt, "c", 1))
    write_result(tmp_path, block, [CellOutcome(1, "c", "measured")], [])
    result = read_result(tmp_path)
    assert result is not None
    assert list(result.manifests) == [f"starts/{block.starts[1].name}/1/c/1/{MANIFEST_FILE}"]
    (repetition_directory(attempt, "c", 1) / MANIFEST_FILE).write_text("{}")
    with pytest.raises(UserError, match="it was changed"):
        read_result(tmp_path)


def test_an_unfinished_block_has_no_result(tmp_path: Path) -> None:
    assert read_result(tmp_path) is None


def test_the_same_host_is_recorded_once(tmp_path: Path) -> None:
    append_host(tmp_path, host("a", recorded_at="2026-01-01T00:00:00+00:00"))
    append_host(tmp_path, host("a", recorded_at="2026-01-01T01:00:00+00:00"))
    append_host(tmp_path, host("b", recorded_at="2026-01-01T02:00:00+00:00"))
    assert [h.hardware.name for h in read_hosts(tmp_path)] == ["a", "b"]


def test_repetitions_from_before_a_change_of_hardware_do_not_count(tmp_path: Path) -> None:
    block = make_block()
    append_host(tmp_path, host("a", recorded_at="2026-01-01T00:00:00+00:00"))
    write(repetition_directory(attempt_directory(tmp_path, block.starts[1], 1), "c", 1))
    assert len(current_repetitions(tmp_path)) == 1
    append_host(tmp_path, host("b", recorded_at="2026-01-01T00:01:00+00:00"))
    assert current_repetitions(tmp_path) == []
    assert len(complete_repetitions(tmp_path)) == 1
