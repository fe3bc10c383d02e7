"""What `specwatch plan` prints: everything about the plan, and what it is not sure of."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.settings import REPOSITORY

TALK = REPOSITORY / "matrices" / "talk.yaml"
SYNTHETIC = "{rejection_sample_method: synthetic, synthetic_acceptance_length: 3.4}"
DUMMY = (
    ("source: meta-llama/Llama-3.1-8B-Instruct", "source: shape:llama-3.1-8b-instruct\n    weights: dummy"),
    ("source: meta-llama/Llama-3.2-1B-Instruct", "source: shape:llama-3.2-1b-instruct\n    weights: dummy"),
    ("    method: draft_model\n", f"    method: draft_model\n    options: {SYNTHETIC}\n"),
)


@pytest.fixture(autouse=True)
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "hub"))


def shown(matrix: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["plan", str(matrix), *arguments]) == 0
    return capsys.readouterr().out


def changed(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = TALK.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (tmp_path / "m.yaml").write_text(text)
    return tmp_path / "m.yaml"


def test_it_says_for_which_gpu_and_how_many_hours(capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(TALK, capsys)
    assert "for RTX PRO 6000 Blackwell, 96 GiB" in said
    assert "(an estimate)" in said
    assert " GPU-hours" in said.splitlines()[-1]


def test_the_commands_of_all_arms_can_be_read_and_the_closing_one_is_the_opening_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [line for line in shown(TALK, capsys).splitlines() if "vllm.entrypoints" in line]
    assert [line.split(":")[0] for line in lines] == ["none", "draft-k4"]
    assert "--max-model-len 8192" in lines[0]


def test_dummy_weights_and_synthetic_acceptance_are_labelled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = shown(changed(tmp_path, *DUMMY), capsys)
    assert "llama-3.1-8b-instruct · dummy weights:" in said
    assert "draft-k4 · synthetic acceptance" in said
    assert "--load-format dummy" in said


def test_what_a_budget_does_not_buy_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(changed(tmp_path, ("version: 1\n", "version: 1\nbudget_gpu_hours: 0.2\n")), capsys)
    assert "of them beyond the budget)" in said
    assert "GPU-hours of a budget of 0.2" in said


def test_a_script_reads_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(shown(TALK, capsys, "--json"))
    assert document["hardware"] == {"name": "RTX PRO 6000 Blackwell", "memory_bytes": 96 << 30}
    (block,) = document["blocks"]
    assert document["estimated_s"] == block["estimated_s"]
    for start in block["starts"]:
        assert start["fit"]["state"] == "fits"
        assert start["argv"]


def test_what_has_to_be_fetched_first_is_told_and_a_gate_with_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(TALK, capsys)
    assert "to install at first use: 0.32.0-cuda" in said
    assert "meta-llama/Llama-3.1-8B-Instruct (15.0 GiB); gated: accept its terms" in said
    document = json.loads(shown(TALK, capsys, "--json"))
    assert document["installs"] == ["0.32.0-cuda"]
    assert document["fetches"][0]["gated"] is True
