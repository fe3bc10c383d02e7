"""What outlives what: tasks, keepers and supervisors are really killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.serve.errors import ServerInterrupted
from pipeline.serve.lock import start_ticks
from pipeline.serve.server import serve
from tests.unit.serve.conftest import Arm, event, until
from tests.unit.serve.test_server import MODES

pytestmark = pytest.mark.loopback

# A supervisor (or an edge worker) that starts the rest of its command line and waits for it.
ABOVE = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"]


def gone(pid: int) -> bool:
    return start_ticks(pid) is None


def ignores_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored, 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("namespace", MODES)
def test_kill_9_of_the_task_takes_the_whole_tree(arm: Arm, namespace: bool | None) -> None:
    task = arm.task(namespace=namespace)
    event(task, "ready")
    assert len(arm.left()) >= 3
    task.kill()
    until(lambda: not arm.left(), what="the end of every process")


@pytest.mark.parametrize("namespace", MODES)
def test_the_log_survives_kill_9_of_the_task(arm: Arm, namespace: bool | None) -> None:
    task = arm.task(namespace=namespace)
    event(task, "ready")
    task.kill()
    task.wait()
    assert "Application startup complete" in arm.log_path.read_text()


@pytest.mark.parametrize("namespace", MODES)
def test_the_lock_is_free_only_after_the_tree_is_gone(arm: Arm, namespace: bool | None) -> None:
    task = arm.task(namespace=namespace)
    event(task, "ready")
    old = arm.left()
    task.kill()
    with serve(arm.argv, **arm.serve_arguments(), namespace=namespace):
        assert all(gone(pid) for pid in old)


def test_a_second_server_waits_for_the_lock_and_says_so(arm: Arm) -> None:
    first = arm.task()
    event(first, "ready")
    second = arm.task()
    assert f"process {first.pid}" in event(second, "waiting")["text"]
    assert second.poll() is None
    first.terminate()
    event(second, "ready")
    assert first.wait(timeout=10) == 3


def test_the_wait_for_the_lock_has_a_deadline(arm: Arm) -> None:
    task = arm.task()
    event(task, "ready")
    with (
        pytest.raises(EnvironmentFault, match=f"process {task.pid}"),
        serve(arm.argv, **arm.serve_arguments(), lock_timeout_s=0.5),
    ):
        pytest.fail("the lock was not free")
    assert task.poll() is None


def test_marked_orphans_are_stopped_before_a_start_and_nothing_else(arm: Arm) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    deaf = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"]
    orphans = [subprocess.Popen(command, env=os.environ | arm.marks) for command in (sleep, deaf)]
    stranger = subprocess.Popen(sleep, env=os.environ | arm.marks | {"SPECWATCH_SERVER_LOCK": "another"})
    until(lambda: len(arm.left()) == 2, what="the marked processes")
    until(lambda: ignores_sigterm(orphans[1].pid), what="deafness")
    try:
        with serve(arm.argv, **arm.serve_arguments()):
            assert [orphan.wait(timeout=1) for orphan in orphans] == [-signal.SIGTERM, -signal.SIGKILL]
            assert stranger.poll() is None
    finally:
        for process in (*orphans, stranger):
            process.kill()
            process.wait()


def test_an_orphan_without_its_keeper_is_stopped_by_the_next_start(arm: Arm) -> None:
    task = arm.task(namespace=False)
    ready = event(task, "ready")
    os.kill(ready["keeper"], signal.SIGKILL)
    task.kill()
    task.wait()
    left = arm.left()
    assert left  # the EngineCore stays, as it does with the real vLLM
    with serve(arm.argv, **arm.serve_arguments()):
        assert all(gone(pid) for pid in left)


def test_a_stuck_keeper_of_a_dead_task_does_not_hold_the_lock_for_ever(arm: Arm) -> None:
    task = arm.task(namespace=False)
    ready = event(task, "ready")
    os.kill(ready["keeper"], signal.SIGSTOP)
    task.kill()
    task.wait()
    assert arm.left()
    with serve(arm.argv, **arm.serve_arguments(), lock_timeout_s=30):
        assert gone(ready["keeper"])


def test_orphans_of_another_home_under_the_same_lock_are_stopped(arm: Arm) -> None:
    task = arm.task(namespace=False)
    ready = event(task, "ready")
    os.kill(ready["keeper"], signal.SIGKILL)
    task.kill()
    task.wait()
    left = arm.left()
    assert left
    with serve(arm.argv, **(arm.serve_arguments() | {"marker": "another-home"})):
        assert all(gone(pid) for pid in left)


@pytest.mark.parametrize("hold", ["sleep", "asyncio", "uvloop"])
def test_sigterm_stops_the_server_and_raises(arm: Arm, hold: str) -> None:
    task = arm.task(hold=hold)
    event(task, "ready")
    task.terminate()
    assert "SIGTERM" in event(task, "interrupted")["message"]
    assert task.wait(timeout=10) == 3
    assert arm.left() == []


def test_sigterm_while_the_server_starts_stops_it(arm: Arm) -> None:
    task = arm.task(script={"hang_at_start": "1"})
    until(lambda: len(arm.left()) >= 3, what="the start")
    task.terminate()
    event(task, "interrupted")
    assert task.wait(timeout=10) == 3
    assert arm.left() == []


@pytest.mark.parametrize("generations", [1, 2], ids=["supervisor", "edge-worker"])
def test_the_task_ends_when_a_process_above_it_is_killed(arm: Arm, generations: int) -> None:
    top = arm.task(above=ABOVE * generations)
    event(top, "ready")
    top.kill()
    assert "above this task is gone" in event(top, "interrupted")["message"]
    until(lambda: not arm.left(), what="the end of every process")


def test_a_task_may_choose_to_outlive_its_parent(arm: Arm) -> None:
    top = arm.task(above=ABOVE, watch_ancestors=False)
    ready = event(top, "ready")
    top.kill()
    top.wait()
    time.sleep(0.6)  # three looks of the watch that must not be there
    assert not gone(ready["server"])
    os.kill(ready["task"], signal.SIGKILL)  # nobody else would: its parent is gone


def test_the_lock_file_names_its_holder(arm: Arm) -> None:
    with serve(arm.argv, **arm.serve_arguments()):
        said = json.loads(arm.lock_path.read_text())
        assert said["pid"] == os.getpid()
        assert said["started"] == start_ticks(os.getpid())


def test_a_task_that_waits_for_the_lock_ends_with_its_supervisor(arm: Arm) -> None:
    first = arm.task()
    event(first, "ready")
    top = arm.task(above=ABOVE)
    event(top, "waiting")
    top.kill()
    assert "above this task is gone" in event(top, "interrupted")["message"]
    assert first.poll() is None


def test_sigterm_while_a_server_is_stopped_is_raised_after(arm: Arm) -> None:
    arguments = arm.serve_arguments(ignore_term="1") | {"stop_grace_s": 1.0}
    with pytest.raises(ServerInterrupted), serve(arm.argv, **arguments):
        threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert arm.left() == []
