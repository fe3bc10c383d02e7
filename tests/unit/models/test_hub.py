"""Models of a hub: fetched once, pinned to a commit, and every refusal a sentence with a next step."""

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.domain.model import Model
from pipeline.errors import EnvironmentFault, SpecwatchError, UserError
from pipeline.models.hub import fetch, find
from tests.support.fake_hub import FakeHub, fake_hub
from tests.support.fake_vllm.engine import make_fake_model

OLD, NEW = "0" * 40, "1" * 40
SECRET = "hf_" + "x" * 20  # pragma: allowlist secret - no token at all
MODEL = Model(name="m", source="org/name")

pytestmark = pytest.mark.loopback


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    with fake_hub() as served:
        served.repositories["org/name"] = make_fake_model(tmp_path / "served")
        served.revisions |= {"main": OLD, OLD: OLD, NEW: NEW}
        yield served


class Machine:
    """One machine's cache and models root."""

    def __init__(self, directory: Path, hub: FakeHub) -> None:
        self.root, self.said = directory / "models", []
        self.environ = {"HF_HUB_CACHE": str(directory / "cache"), "HF_ENDPOINT": hub.url}

    def fetch(self, model: Model = MODEL, **environ: str) -> Path:
        return fetch(model, root=self.root, environ=self.environ | environ, report=self.said.append)


@pytest.fixture
def machine(tmp_path: Path, hub: FakeHub) -> Machine:
    return Machine(tmp_path, hub)


def refusal(machine: Machine, kind: type[SpecwatchError], model: Model = MODEL, **environ: str) -> str:
    with pytest.raises(kind) as caught:
        machine.fetch(model, **environ)
    return str(caught.value)


def test_a_model_is_downloaded_once_and_known_by_its_commit(hub: FakeHub, machine: Machine) -> None:
    first = machine.fetch()
    assert first.name == OLD
    assert sorted(path.name for path in first.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    sent = len(hub.fetched)
    assert machine.fetch() == first
    assert len(hub.fetched) == sent
    assert find(MODEL, root=machine.root, environ=machine.environ) == first


def test_the_commit_of_the_first_use_is_kept_when_the_branch_moves_on(hub: FakeHub, machine: Machine) -> None:
    machine.fetch()
    hub.revisions["main"] = NEW
    assert machine.fetch().name == OLD
    (note,) = (machine.root / ".revisions").iterdir()
    assert json.loads(note.read_text())["commit"] == OLD
    note.unlink()
    assert machine.fetch(Model(name="m", source="org/name", revision=NEW)).name == NEW
    assert not note.exists()  # a commit needs no note


def test_a_commit_noted_before_the_cache_was_lost_is_fetched_again(tmp_path: Path, hub: FakeHub) -> None:
    Machine(tmp_path, hub).fetch()
    hub.revisions["main"] = NEW
    other = Machine(tmp_path, hub)
    other.environ["HF_HUB_CACHE"] = str(tmp_path / "empty")
    assert other.fetch().name == OLD


def test_dummy_weights_need_no_weights(hub: FakeHub, machine: Machine) -> None:
    machine.fetch(Model(name="m", source="org/name", weights="dummy"))
    assert sorted(hub.fetched) == ["config.json", "tokenizer.json"]
    machine.fetch()  # the same model with its weights: what is missing is fetched
    assert sorted(hub.fetched) == ["config.json", "model.safetensors", "tokenizer.json"]


def test_only_one_format_of_the_weights_at_the_top_is_fetched(hub: FakeHub, machine: Machine) -> None:
    directory = hub.repositories["org/name"]
    (directory / "original").mkdir()
    for name in ("pytorch_model.bin", "model.gguf", "README.md", "original/model.safetensors", "chat_template.jinja"):
        (directory / name).write_text(name)
    machine.fetch()
    assert sorted(hub.fetched) == ["chat_template.jinja", "config.json", "model.safetensors", "tokenizer.json"]
    (directory / "model.safetensors").unlink()
    hub.fetched.clear()
    machine.fetch(Model(name="m", source="org/name", revision=NEW))
    assert "pytorch_model.bin" in hub.fetched


def test_a_download_that_broke_off_is_continued(hub: FakeHub, machine: Machine) -> None:
    directory = hub.repositories["org/name"]
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    (directory / "model.safetensors").rename(directory / "one.safetensors")
    (directory / "two.safetensors").write_bytes((directory / "one.safetensors").read_bytes())
    snapshot = machine.fetch()
    (snapshot / "two.safetensors").unlink()
    hub.fetched.clear()
    machine.fetch()
    assert (snapshot / "two.safetensors").exists()


def test_a_gated_model_says_where_to_ask_and_never_shows_the_token(hub: FakeHub, machine: Machine) -> None:
    hub.gated.add("org/name")
    assert "is gated and no token in HF_TOKEN has no access. Ask for access" in refusal(machine, UserError)
    said = refusal(machine, UserError, HF_TOKEN=SECRET)
    assert "is gated and the token in HF_TOKEN has no access" in said
    assert SECRET not in said + "".join(machine.said)
    hub.token = SECRET
    assert machine.fetch(HF_TOKEN=SECRET).name == OLD
    assert SECRET not in "".join(machine.said)


def test_what_does_not_exist_is_named(hub: FakeHub, machine: Machine) -> None:
    assert "org/nothing was not found on the hub" in refusal(machine, UserError, Model(name="m", source="org/nothing"))
    said = refusal(machine, UserError, Model(name="m", source="org/name", revision="v9"))
    assert "has no revision 'v9'. Correct `revision`" in said


@pytest.mark.parametrize(("status", "kind"), [(401, UserError), (403, UserError), (500, EnvironmentFault)])
def test_a_hub_that_refuses_is_told_apart_from_one_that_fails(
    hub: FakeHub, machine: Machine, status: int, kind: type[SpecwatchError]
) -> None:
    hub.refuse = status
    said = refusal(machine, kind)
    assert "HF_TOKEN" in said if kind is UserError else "run again" in said


def test_offline_names_the_cache_and_the_command(hub: FakeHub, machine: Machine) -> None:
    said = refusal(machine, EnvironmentFault, HF_HUB_OFFLINE="1")
    assert "models--org--name) and HF_HUB_OFFLINE is set" in said
    assert "hf download org/name" in said
    machine.fetch()
    assert machine.fetch(HF_HUB_OFFLINE="1").name == OLD  # what is here needs no network


def test_a_hub_out_of_reach_is_the_machines_fault(hub: FakeHub, machine: Machine) -> None:
    said = refusal(machine, EnvironmentFault, HF_ENDPOINT="http://127.0.0.1:9")
    assert "could not be downloaded" in said
    assert "Check the network and run again" in said


def test_a_full_disk_is_named(hub: FakeHub, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("huggingface_hub.HfApi.snapshot_download", full)
    assert "no space is left in" in refusal(machine, EnvironmentFault)
