"""The registry's file: readable, complete, and refused where it contradicts itself."""

from pathlib import Path

import pytest

from pipeline.engines.registry import FILE, load_registry


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "registry.yaml"
    path.write_text(text.replace(old, new, 1))
    return path


def test_it_is_read_once() -> None:
    assert load_registry() is load_registry()


def test_every_listed_source_is_cited() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert [name for name in load_registry().sources if f"source: {name}" not in text] == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ngram: {source: package}", "ngram: {source: hearsay}", "hearsay"),
        ('since: "0.18.0"', 'since: "eighteen"', "eighteen"),
        ('versions: "<0.20"', 'versions: "before 0.20"', "before 0.20"),
        ("methods: [ngram, ngram_gpu]", "methods: [ngram, telepathy]", "telepathy"),
        ("methods: [draft_model, mlp_speculator]", "methods: [telepathy]", "sampling 'guided'"),
        ("package: arctic-inference==0.1.1", "package: arctic inference 0.1.1", "arctic"),
        ("note: lossy", "remark: lossy", "remark"),
    ],
)
def test_a_mistake_in_it_is_found_when_it_is_read(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        load_registry(changed(tmp_path, old, new))
