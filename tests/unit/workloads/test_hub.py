"""A file of a hub: its commit is kept, a commit that lies here needs no network, and being offline is a sentence."""

from pathlib import Path

import httpx
import huggingface_hub
import pytest
from huggingface_hub.errors import OfflineModeIsEnabled, RepositoryNotFoundError

from pipeline.domain.workload import PromptSource
from pipeline.errors import EnvironmentFault, UserError
from pipeline.workloads.hub import fetch

COMMIT = "0123456789" * 4
SOURCE = PromptSource("mine", "jsonl", hub="org/name", file="data/a.jsonl", revision=COMMIT)


def cached(root: Path) -> Path:
    """A file as the hub's client keeps it."""
    path = root / "datasets--org--name" / "snapshots" / COMMIT / "data" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    return path


class Api:
    """A hub that knows one data set, or fails as it is told."""

    failure: Exception | None = None

    def dataset_info(self, name: str, *, revision: str | None, timeout: float) -> huggingface_hub.DatasetInfo:
        if self.failure:
            raise self.failure
        assert (name, revision, timeout) == ("org/name", "main", 3.0)
        return huggingface_hub.DatasetInfo(id=name, sha=COMMIT)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> type[Api]:
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(Api, "failure", None)
    return Api


def test_a_commit_that_was_fetched_needs_no_hub(tmp_path: Path, hub: type[Api]) -> None:
    hub.failure = AssertionError("asked the hub")
    path = cached(tmp_path)
    assert fetch(SOURCE, cache=tmp_path) == (path, COMMIT)


def test_a_branch_is_resolved_to_its_commit(tmp_path: Path, hub: type[Api], monkeypatch: pytest.MonkeyPatch) -> None:
    def download(name: str, file: str, **told: object) -> str:
        assert (name, file, told["revision"], told["repo_type"]) == ("org/name", "data/a.jsonl", COMMIT, "dataset")
        return "somewhere"

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    source = PromptSource("mine", "jsonl", hub="org/name", file="data/a.jsonl", revision="main")
    assert fetch(source, cache=tmp_path, timeout_s=3.0) == (Path("somewhere"), COMMIT)


@pytest.mark.parametrize("failure", [OfflineModeIsEnabled("offline"), httpx.ConnectTimeout("slow"), OSError("gone")])
def test_a_hub_that_cannot_be_reached_says_what_to_do(tmp_path: Path, hub: type[Api], failure: Exception) -> None:
    hub.failure = failure
    with pytest.raises(EnvironmentFault, match=r"cannot be fetched from the hub .* download the file elsewhere"):
        fetch(SOURCE, cache=tmp_path)


def test_what_the_hub_does_not_have_is_the_users_to_correct(tmp_path: Path, hub: type[Api]) -> None:
    request = httpx.Request("GET", "https://hub.example")
    hub.failure = RepositoryNotFoundError("no such", response=httpx.Response(404, request=request))
    with pytest.raises(UserError, match=r"has no file 'data/a\.jsonl' of data set 'org/name' \(revision 0123"):
        fetch(SOURCE, cache=tmp_path)
