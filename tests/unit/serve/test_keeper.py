"""The keeper alone: what it ends with, and that nothing outlives it. The servers here are shells."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.serve.fencing import namespace_command
from pipeline.serve.keeper import _CANNOT_RUN
from pipeline.serve.lock import start_ticks
from tests.unit.serve.conftest import REPOSITORY, until

RUN = "import json, sys; from pipeline.serve.keeper import main; sys.exit(main(json.loads(sys.argv[1])))"
KILLED = 128 + signal.SIGKILL
LOOP = "while :; do sleep 0.02; done"


class Keeper:
    """A keeper in a process of its own, and our end of its control pipe."""

    def __init__(self, shell: str, *, log: Path, above: tuple[str, ...] = (), **changes: Any) -> None:
        read, self.control = os.pipe()
        job = {
            "namespace": [],
            "init": False,
            "parent": os.getpid(),
            "die_with_parent": False,
            "control": read,
            "grace_s": 5.0,
            "command": ["sh", "-c", shell],
        }
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*above, sys.executable, "-c", RUN, json.dumps(job | changes)],
                cwd=REPOSITORY,
                pass_fds=(read,),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        os.close(read)

    def say(self, word: bytes) -> None:
        """Write to the control pipe, as the task does."""
        os.write(self.control, word)

    def close(self) -> None:
        """Close our end, as the task's death does."""
        if self.control >= 0:
            os.close(self.control)
            self.control = -1

    def ends_with(self) -> int:
        """The exit status."""
        return self.process.wait(timeout=30)


Keep = Callable[..., Keeper]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


@pytest.fixture
def keep(log: Path) -> Iterator[Keep]:
    """Return a function that starts a keeper of a shell's command line."""
    keepers: list[Keeper] = []

    def start(shell: str, **changes: Any) -> Keeper:
        keepers.append(Keeper(shell, log=log, **changes))
        return keepers[-1]

    yield start
    for keeper in keepers:
        keeper.close()
        keeper.ends_with()


def written(path: Path) -> int:
    """Return the process id that a shell wrote to `path`."""
    until(lambda: path.exists() and path.read_text().strip(), what=f"a number in {path.name}")
    return int(path.read_text())


@pytest.mark.parametrize(("shell", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", KILLED)])
def test_it_ends_as_its_server_ends(keep: Keep, shell: str, status: int) -> None:
    assert keep(shell).ends_with() == status


def test_a_server_that_cannot_be_run_is_named(keep: Keep, log: Path) -> None:
    assert keep("", command=["/nowhere/vllm"]).ends_with() == _CANNOT_RUN
    assert "cannot run /nowhere/vllm: " in log.read_text()


@pytest.mark.parametrize("how", ["word", "signal"])
def test_asked_to_end_it_asks_its_server(keep: Keep, tmp_path: Path, how: str) -> None:
    keeper = keep(f"trap 'exit 5' TERM; echo $$ > {tmp_path}/pid; {LOOP}")
    written(tmp_path / "pid")
    if how == "word":
        keeper.say(b"t")
    else:
        keeper.process.terminate()
    assert keeper.ends_with() == 5


def test_a_server_that_does_not_listen_is_killed_after_the_grace(keep: Keep, tmp_path: Path) -> None:
    keeper = keep(f"trap '' TERM; echo $$ > {tmp_path}/pid; {LOOP}", grace_s=0.2)
    server = written(tmp_path / "pid")
    keeper.say(b"t")
    keeper.say(b"t")  # asking twice gives no second grace
    assert keeper.ends_with() == KILLED
    assert start_ticks(server) is None


def test_when_its_task_dies_it_takes_everything_along_at_once(keep: Keep, tmp_path: Path) -> None:
    far = f"setsid sh -c 'trap \"\" TERM; echo $$ > {tmp_path}/far; {LOOP}'"
    keeper = keep(f"trap '' TERM; {far} & echo $$ > {tmp_path}/pid; {LOOP}", grace_s=600)
    server, distant = written(tmp_path / "pid"), written(tmp_path / "far")
    keeper.close()
    assert keeper.ends_with() == KILLED
    assert (start_ticks(server), start_ticks(distant)) == (None, None)


def test_what_the_server_leaves_behind_ends_with_it(keep: Keep, tmp_path: Path) -> None:
    left = f"setsid sh -c 'echo $$ > {tmp_path}/left; {LOOP}'"
    keeper = keep(f"{left} & while [ ! -s {tmp_path}/left ]; do sleep 0.02; done; exit 7")
    orphan = written(tmp_path / "left")
    assert keeper.ends_with() == 7
    assert start_ticks(orphan) is None


@pytest.mark.parametrize("by_signal", [False, True])
def test_a_task_that_died_before_the_start_gets_no_server(keep: Keep, tmp_path: Path, by_signal: bool) -> None:
    keeper = keep(f"touch {tmp_path}/started", parent=os.getpid() + 1, die_with_parent=by_signal)
    assert keeper.ends_with() == KILLED
    assert not (tmp_path / "started").exists()


def test_a_namespace_is_entered_by_running_itself_there(keep: Keep) -> None:
    assert keep("exit 4", namespace=["env"]).ends_with() == 4  # `env` stands where `unshare` would


def test_a_task_that_died_before_the_namespace_gets_none(keep: Keep, tmp_path: Path) -> None:
    entered = ["sh", "-c", f"touch {tmp_path}/entered"]
    assert keep("", namespace=entered, parent=os.getpid() + 1).ends_with() == KILLED
    assert not (tmp_path / "entered").exists()


@pytest.mark.skipif(not namespace_command(), reason="unshare not allowed")
def test_as_init_of_a_namespace_it_ends_all_that_is_inside(keep: Keep, tmp_path: Path) -> None:
    left = f"setsid sh -c 'echo x > {tmp_path}/left; {LOOP}'"
    shell = f"{left} & while [ ! -s {tmp_path}/left ]; do sleep 0.02; done; exit 6"
    assert keep(shell, above=namespace_command(), init=True).ends_with() == 6
