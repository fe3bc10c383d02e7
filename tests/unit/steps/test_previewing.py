"""What a person sees of a plan before it costs anything."""

from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.settings import REPOSITORY
from pipeline.steps.previewing import Preview, preview

TALK = (REPOSITORY / "matrices" / "talk.yaml").read_text(encoding="utf-8")


DUMMY = tuple(
    (f"source: meta-llama/{name}", f"source: meta-llama/{name}\n    weights: dummy")
    for name in ("Llama-3.1-8B-Instruct", "Llama-3.2-1B-Instruct")
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("SPECWATCH_RUNS", "WAREHOUSE_URL", "WAREHOUSE_URL_FILE", "SPECWATCH_VLLM_PORT"):
        monkeypatch.delenv(name, raising=False)


def previewed(tmp_path: Path, *changes: tuple[str, str]) -> Preview:
    text = TALK
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (tmp_path / "m.yaml").write_text(text)
    return preview(str(tmp_path / "m.yaml"), overrides={})


def test_every_start_has_its_command_its_memory_and_its_time(tmp_path: Path) -> None:
    (planned,) = previewed(tmp_path).blocks
    assert [arm.start.position for arm in planned.arms] == ["opening", "arm", "closing"]
    for arm in planned.arms:
        assert arm.argv[0].endswith("engines/0.32.0-cuda/bin/python")
        assert "<meta-llama/Llama-3.1-8B-Instruct>" in arm.argv
        assert arm.fit.state == "fits"
        assert arm.seconds > 120
    assert '"model":"<meta-llama/Llama-3.2-1B-Instruct>"' in planned.arms[1].argv[-1]
    assert planned.seconds == pytest.approx(sum(arm.seconds for arm in planned.arms))


def test_a_draft_of_unusual_size_is_warned_of_once(tmp_path: Path) -> None:
    (planned,) = previewed(tmp_path).blocks
    (said,) = [warning for warning in planned.warnings if "times smaller" in warning]
    assert said.startswith("draft llama-3.2-1b-instruct is 6.5 times smaller than target llama-3.1-8b-instruct")


def test_what_does_not_fit_is_warned_of(tmp_path: Path) -> None:
    (planned,) = previewed(tmp_path, ("memory_gib: 96", "memory_gib: 16")).blocks
    assert {arm.fit.state for arm in planned.arms} == {"does not fit"}
    assert any(warning.startswith("draft-k4 does not fit: ") for warning in planned.warnings)


def test_without_a_gpu_or_its_name_the_memory_is_unknown(tmp_path: Path) -> None:
    stated = TALK[TALK.index("hardware:") :]
    found = previewed(tmp_path, (stated, ""))
    assert found.accelerator is None
    assert {arm.fit.state for arm in found.blocks[0].arms} == {"unknown"}


def test_prefill_heavy_and_too_long_prompts_are_warned_of(tmp_path: Path) -> None:
    short = previewed(tmp_path, ("output_tokens: 256", "output_tokens: 8"))
    assert any("is prefill-heavy: about" in warning for warning in short.blocks[0].warnings)


def test_target_and_draft_must_both_be_real_or_dummy(tmp_path: Path) -> None:
    line = "source: meta-llama/Llama-3.2-1B-Instruct"
    with pytest.raises(UserError, match="Make them alike"):
        previewed(tmp_path, (line, f"{line}\n    weights: dummy"))


def test_a_budget_leaves_out_what_it_does_not_buy(tmp_path: Path) -> None:
    everything = previewed(tmp_path)
    hours = everything.seconds / 3600
    half = previewed(tmp_path, ("version: 1\n", f"version: 1\nbudget_gpu_hours: {hours / 2:.3f}\n"))
    assert half.seconds <= everything.seconds / 2
    (planned,) = half.blocks
    assert planned.arms
    assert planned.block.skipped
    assert all(skip.reason.startswith("budget: ") for skip in planned.block.skipped)
    all_of_it = previewed(tmp_path, ("version: 1\n", f"version: 1\nbudget_gpu_hours: {hours + 0.01:.3f}\n"))
    assert all_of_it.blocks[0].block.skipped == ()


def test_a_model_that_is_here_stands_with_its_path(tmp_path: Path) -> None:
    directory = tmp_path / "models" / "smollm2-135m-instruct"
    directory.mkdir(parents=True)
    (directory / "config.json").write_text("{}")
    (planned,) = preview("matrices/smoke.yaml", overrides={"methods": ["ngram-k4"]}).blocks
    assert str(directory) in planned.arms[0].argv
    assert planned.arms[0].fit.state == "fits"  # its own config says nothing: by the sizes that we ship


def test_a_release_that_does_not_know_the_gpu_is_skipped_with_the_reason(tmp_path: Path) -> None:
    (planned,) = previewed(tmp_path, ('version: "0.32.0"', 'version: "0.9.2"')).blocks
    assert planned.arms == ()
    assert "lack sm_120" in planned.block.skipped[0].reason


def test_what_the_first_use_installs_and_fetches_is_told(tmp_path: Path) -> None:
    found = previewed(tmp_path)
    assert found.installs == ("0.32.0-cuda",)
    target, draft = found.fetches
    assert (target.source, target.gated) == ("meta-llama/Llama-3.1-8B-Instruct", True)
    assert target.size_bytes == 2 * 8_030_261_248
    assert draft.source == "meta-llama/Llama-3.2-1B-Instruct"
    sizes = [fetch.size_bytes for fetch in previewed(tmp_path, *DUMMY).fetches]
    assert sizes == [None, None]  # of dummy weights only config and tokenizer are fetched
    public = previewed(tmp_path, ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B"))
    assert [fetch.gated for fetch in public.fetches] == [False, True]


def test_a_release_newer_than_the_registry_is_warned_of(tmp_path: Path) -> None:
    (planned,) = previewed(tmp_path, ('version: "0.32.0"', 'version: "0.40.0"')).blocks
    assert any("0.40.0 is newer than 0.33.0" in warning for warning in planned.warnings)


def test_an_interpreter_that_is_not_here_or_holds_another_release_is_warned_of(tmp_path: Path) -> None:
    found = previewed(tmp_path, ("platform: cuda", "platform: cuda\n    python: /nowhere/python"))
    assert any("no interpreter at /nowhere/python" in warning for warning in found.blocks[0].warnings)
    assert found.installs == ()


def test_a_package_that_a_method_needs_beside_the_release_is_warned_of(tmp_path: Path) -> None:
    arm = "  - {name: suffix-k4, method: suffix, num_speculative_tokens: 4}\n"
    (planned,) = previewed(tmp_path, ("methods:\n", f"methods:\n{arm}")).blocks
    (said,) = [warning for warning in planned.warnings if "arctic" in warning]
    assert said.startswith("suffix needs arctic-inference==0.1.1: it is added")


def test_guided_cells_are_skipped_where_speculation_breaks_them(tmp_path: Path) -> None:
    changes = (
        ('version: "0.32.0"', 'version: "0.9.1"'),
        ("workloads: [structured, creative]", "workloads: [json]\nguided: [true, false]"),
        ("\nhardware:\n", "\nhardware:\n  name: H200\n  memory_gib: 141\n"),
        (TALK[TALK.index("  name: RTX") :], ""),
    )
    (planned,) = previewed(tmp_path, *changes).blocks
    assert {skip.cell.guided for skip in planned.block.skipped} == {True}
    assert "guided decoding breaks" in planned.block.skipped[0].reason
    assert {cell.guided for arm in planned.arms for cell in arm.start.cells} == {False}
