"""kill -9 of the edge worker in the middle of a block: nothing measured is lost, nothing is measured twice."""

import hashlib
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import text

from pipeline.domain.block import Block
from pipeline.records.block import read_block
from pipeline.system.airflow_api import FINAL_RUN_STATES, result, returned, trigger
from pipeline.system.processes import SERVER_VARIABLE, find_marked
from pipeline.warehouse.database import open_warehouse
from tests.support.system import RunningSystem, fake_matrix, wait_for

pytestmark = [pytest.mark.system, pytest.mark.timeout(500)]

REPETITIONS = 3
STARTS = 3  # opening baseline, ngram, closing baseline
DAG = "nightly_matrix"


def manifests(runs: Path) -> dict[Path, str]:
    """Every complete repetition with the hash of its manifest."""
    return {
        path.parent: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in runs.glob("*/*/starts/*/*/*/*/MANIFEST.json")
    }


def test_a_killed_edge_worker_costs_one_repetition_and_no_measurement(
    running_system: RunningSystem, tmp_path: Path
) -> None:
    system, api, runs = running_system, running_system.api, running_system.home / "runs"
    matrix = fake_matrix(tmp_path, token_ms=40, repetitions=REPETITIONS)
    run_id = trigger(api, DAG, conf={"matrix": str(matrix)})

    # Killed inside the second server start: the opening baseline is complete, the arm is not.
    wait_for(lambda: len(manifests(runs)) > REPETITIONS, within_s=240, what="some repetitions")
    killed = system.pid("edge-worker")
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    before = manifests(runs)
    wait_for(lambda: not servers(system), within_s=20, what="the server to end with its task")

    wait_for(lambda: system.pid("edge-worker") not in {None, killed}, within_s=60, what="the edge worker to come back")
    ended = wait_for(
        lambda: (now := result(api, DAG, run_id)).state in FINAL_RUN_STATES and now, within_s=200, what="the run to end"
    )

    assert ended.state == "success", [(task.name, task.state) for task in ended.tasks]
    assert [task.try_number for task in ended.tasks if task.task_id == "block.bench"] == [2]
    after = manifests(runs)
    assert len(before) < STARTS * REPETITIONS
    assert {path: after[path] for path in before} == before
    assert len(after) == STARTS * REPETITIONS
    assert not servers(system)

    sweep_id = returned(api, DAG, run_id, task_id="plan", key="sweep_id")
    sweep_dir = Path(returned(api, DAG, run_id, task_id="plan", key="sweep_dir"))
    assert measured(system, sweep_id) == planned(sweep_dir)
    assert baselines(system, sweep_id) == {"opening", "closing"}


def servers(system: RunningSystem) -> list[str]:
    """Servers of ours that live."""
    return [process.command for process in find_marked(system.state.marker, variables=(SERVER_VARIABLE,))]


def planned(sweep_dir: Path) -> Counter[tuple[int, str, int]]:
    """(start, cell, repetition), each once, as the plan has it."""
    blocks: list[Block] = [read_block(path.parent) for path in sweep_dir.glob("*/block.json")]
    return Counter(
        (start.index, cell.cell_id, repetition)
        for block in blocks
        for start in block.starts
        for cell in start.cells
        for repetition in repetition_numbers(block)
    )


def repetition_numbers(block: Block) -> range:
    """Repetitions count from 0."""
    return range(block.repetitions)


def measured(system: RunningSystem, sweep_id: str) -> Counter[tuple[int, str, int]]:
    """The same from the warehouse."""
    rows = query(
        system,
        "select start_index, cell_id, repetition from warehouse.measurement where sweep_id = :sweep_id",
        sweep_id,
    )
    return Counter((int(start), str(cell), int(repetition)) for start, cell, repetition in rows)


def baselines(system: RunningSystem, sweep_id: str) -> set[str]:
    """Positions of distinct baseline starts that have measurements."""
    rows = query(
        system,
        "select m.position from warehouse.measurement as m inner join warehouse.cell as c using (cell_id) "
        "where m.sweep_id = :sweep_id and c.cell_id = c.baseline_cell_id group by m.position, m.start_index",
        sweep_id,
    )
    assert len(rows) == 2
    return {str(row[0]) for row in rows}


def query(system: RunningSystem, statement: str, sweep_id: str) -> list[tuple[object, ...]]:
    """Rows of a question about one sweep."""
    engine = open_warehouse(system.state.warehouse_url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(statement), {"sweep_id": sweep_id})]
    finally:
        engine.dispose()
