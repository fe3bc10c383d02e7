"""Paths, hub ids and embedded names become a directory and its content."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.domain.model import Model, ResolvedModel
from pipeline.errors import EnvironmentFault, UserError
from pipeline.models.resolve import locate, resolve
from tests.support.fake_vllm.engine import make_fake_model

Report = Callable[[str], None]
COMMIT = "0123456789abcdef0123456789abcdef01234567"  # pragma: allowlist secret - a made-up commit


def resolved(source: Path | str, tmp_path: Path, *, report: Report, **model: str) -> ResolvedModel:
    environ = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    asked = Model(name="m", source=str(source), **model)
    return resolve(asked, root=tmp_path / "root", engine_python=Path("/none"), report=report, environ=environ)


def test_a_directory_is_read(tmp_path: Path, report: Report) -> None:
    found = resolved(make_fake_model(tmp_path / "a", layers=4, hidden_size=8), tmp_path, report=report)
    assert (found.layers, found.hidden_size, found.vocab_size) == (4, 8, 16)
    assert found.parameters == 16 * 8 + 4 * 8 * 8
    assert found.path == str(tmp_path / "a")
    assert found.revision.startswith("sha256:")


def test_the_revision_follows_the_content_not_the_place(tmp_path: Path, report: Report) -> None:
    first = resolved(make_fake_model(tmp_path / "a"), tmp_path, report=report)
    second = resolved(make_fake_model(tmp_path / "b"), tmp_path, report=report)
    (tmp_path / "b" / "tokenizer.json").write_text("{}")
    changed = resolved(tmp_path / "b", tmp_path, report=report)
    assert first.revision == second.revision != changed.revision
    assert first.model_id == second.model_id


def test_hidden_files_do_not_enter_the_revision(tmp_path: Path, report: Report) -> None:
    directory = make_fake_model(tmp_path / "a")
    before = resolved(directory, tmp_path, report=report)
    (directory / ".cache").mkdir()
    (directory / ".cache" / "x").write_text("x")
    assert resolved(directory, tmp_path, report=report).revision == before.revision


def test_a_hash_is_computed_once(tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_fake_model(tmp_path / "a")
    first = resolved(directory, tmp_path, report=report)
    monkeypatch.setattr("pipeline.models.contents._sha256", lambda _: pytest.fail("hashed again"))
    assert resolved(directory, tmp_path, report=report) == first


def test_a_broken_cache_of_hashes_is_made_again(tmp_path: Path, report: Report) -> None:
    directory = make_fake_model(tmp_path / "a")
    first = resolved(directory, tmp_path, report=report)
    (cache,) = (tmp_path / "root" / ".contents").iterdir()
    cache.write_text("{")
    assert resolved(directory, tmp_path, report=report) == first


def test_a_directory_without_a_config_is_named(tmp_path: Path, report: Report) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(UserError, match=r"a holds no config\.json"):
        resolved(tmp_path / "a", tmp_path, report=report)


def test_a_path_that_is_not_there_is_named(tmp_path: Path, report: Report) -> None:
    with pytest.raises(UserError, match=r"there is no directory .*/nowhere"):
        resolved(tmp_path / "nowhere", tmp_path, report=report)


def test_a_truncated_weight_file_is_named(tmp_path: Path, report: Report) -> None:
    directory = make_fake_model(tmp_path / "a")
    (directory / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{")
    with pytest.raises(UserError, match=r"model\.safetensors is not a safetensors file"):
        resolved(directory, tmp_path, report=report)


def test_real_weights_must_be_there_and_dummy_ones_need_not(tmp_path: Path, report: Report) -> None:
    directory = make_fake_model(tmp_path / "a")
    (directory / "model.safetensors").unlink()
    with pytest.raises(UserError, match="weights: dummy"):
        resolved(directory, tmp_path, report=report)
    assert resolved(directory, tmp_path, report=report, weights="dummy").parameters is None


def test_the_shape_of_a_multimodal_model_is_its_text_part(tmp_path: Path, report: Report) -> None:
    directory = make_fake_model(tmp_path / "a")
    config = {"text_config": {"num_hidden_layers": 7, "hidden_size": 5, "vocab_size": 3}}
    (directory / "config.json").write_text(json.dumps(config))
    assert resolved(directory, tmp_path, report=report).layers == 7


def hub_model(tmp_path: Path) -> Path:
    """A snapshot as the hub's client stores it: links into blobs, a reference naming the commit."""
    repository = tmp_path / "hub" / "models--org--name"
    blobs = make_fake_model(repository / "blobs")
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for path in blobs.iterdir():
        (snapshot / path.name).symlink_to(path)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    return snapshot


@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_a_hub_model_is_its_snapshot_and_its_commit(tmp_path: Path, report: Report, revision: str | None) -> None:
    snapshot = hub_model(tmp_path)
    more = {} if revision is None else {"revision": revision}
    found = resolved("org/name", tmp_path, report=report, **more)
    assert found.path == str(snapshot)
    assert found.revision == COMMIT
    assert found.parameters


@pytest.mark.parametrize("revision", [None, "v2", "f" * 40])
def test_a_hub_model_that_is_not_here_says_how_to_get_it(tmp_path: Path, report: Report, revision: str | None) -> None:
    more = {} if revision is None else {"revision": revision}
    with pytest.raises(EnvironmentFault, match="hf download org/name") as caught:
        resolved("org/name", tmp_path, report=report, **more)
    assert (f"--revision {revision}" in str(caught.value)) == (revision is not None)


def test_a_plan_finds_what_is_here_without_making_or_hashing_it(tmp_path: Path) -> None:
    def place(source: str, **model: str) -> Path | None:
        environ = {"HF_HUB_CACHE": str(tmp_path / "hub")}
        return locate(Model(name="m", source=source, **model), root=tmp_path / "root", environ=environ)

    assert place("org/name") is None
    assert place("embedded:smollm2-135m-instruct") is None
    assert place("shape:llama-3.1-8b-instruct", weights="dummy") is None
    assert place("./nowhere") is None
    assert place("org/name") is None
    snapshot = hub_model(tmp_path)
    assert place("org/name") == snapshot
    directory = make_fake_model(tmp_path / "root" / "smollm2-135m-instruct")
    assert place("embedded:smollm2-135m-instruct") == directory
    assert place(str(directory)) == directory
    assert not (tmp_path / "root" / ".contents").exists()
