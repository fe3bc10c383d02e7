"""The server's tree, and which processes on a GPU are not of it."""

import subprocess
import sys
import time

import psutil
import pytest

from pipeline.telemetry.processes import ProcessTree, foreign

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; print(); sys.stdin.read()"], stdin=subprocess.PIPE)
sys.stdin.readline()
child.stdin.close()
child.wait()
sys.stdin.read()
"""


@pytest.fixture
def parent():
    """A process with a child; a line on its stdin ends the child, the end of stdin ends both."""
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()  # the child runs
    yield process
    process.stdin.close()
    process.stdout.close()
    process.wait(10)


def test_a_tree_sums_over_its_processes(parent: subprocess.Popen) -> None:
    tree = ProcessTree(parent.pid)
    tree.look()
    assert len(tree.pids) == 2
    assert parent.pid in tree.pids
    cpu_s, rss = tree.figures()
    assert cpu_s > 0
    assert rss > psutil.Process(parent.pid).memory_info().rss


def test_a_process_that_ended_leaves_the_tree(parent: subprocess.Popen) -> None:
    tree = ProcessTree(parent.pid)
    tree.look()
    parent.stdin.write(b"\n")
    parent.stdin.flush()
    deadline = time.monotonic() + 10
    while psutil.Process(parent.pid).children() and time.monotonic() < deadline:
        time.sleep(0.01)
    tree.figures()
    assert tree.pids == {parent.pid}


def test_a_tree_that_is_gone_says_so(parent: subprocess.Popen) -> None:
    tree = ProcessTree(parent.pid)
    tree.look()
    parent.stdin.close()
    parent.wait(10)
    with pytest.raises(psutil.NoSuchProcess):
        tree.figures()
    with pytest.raises(psutil.NoSuchProcess):
        tree.look()


@pytest.mark.parametrize(
    ("on_gpu", "expected"),
    [
        ({10, 11}, 0),
        ({10, 99}, 1),
        (set(), None),  # nothing is named, though the server is there: NVML does not speak of our processes
        ({77}, None),  # ids of another namespace: ours, or another's?
    ],
)
def test_a_process_is_foreign_only_where_ours_can_be_told_apart(on_gpu: set, expected: int | None) -> None:
    assert foreign(on_gpu, own={10, 11, 12}) == expected
