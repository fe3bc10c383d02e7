"""Sentences, labels, figures and notes: computed from rows, never written in advance."""

import pytest

from dashboard import answers, confounders, figures, labels, notes, scope
from tests.unit.dashboard.rows import rows

UNDECIDED = {"verdict": "undecided", "estimate": 1.1, "lower": 0.9, "upper": 1.3, "cell_id": "c2", "concurrency": 4}
FAILED = {"verdict": None, "status": "failed", "estimate": None, "lower": None, "upper": None, "cell_id": "c3"}


@pytest.mark.parametrize(
    ("value", "text"),
    [((1.62, 1.312, 2.009), "1.62x [1.31, 2.01]"), ((None, None, None), "-"), ((float("nan"), 1.0, 2.0), "-")],
)
def test_a_speedup_is_written_with_its_interval(value: tuple[float, float, float], text: str) -> None:
    assert figures.speedup(*value) == text


def test_zero_is_a_figure_and_none_is_not() -> None:
    assert figures.percent(0.0, signed=True) == "+0%"
    assert figures.number(0) == "0.00"
    assert figures.number(None) == "-"


def test_log_lines_are_not_read_as_markdown() -> None:
    assert figures.plain("a*b [c] $x$ :d:") == r"a\*b \[c\] \$x\$ \:d\:"


def test_an_answer_without_a_win_names_the_highest() -> None:
    text = answers.verdict_answer(rows(UNDECIDED), hardware="H", engine_version="1.0")
    assert text == (
        "On H, vLLM 1.0: worth it in 0 of 1 cell, not in 0, undecided in 1; "
        "highest: ngram-k4 on structured at concurrency 4, 1.10x [0.90, 1.30]."
    )


def test_an_answer_counts_what_has_no_verdict() -> None:
    unpaired = {**FAILED, "status": "measured", "cell_id": "c4"}
    text = answers.verdict_answer(rows({}, FAILED, unpaired), hardware="H", engine_version="1.0")
    assert "worth it in 1 of 3 cells, not in 0, undecided in 0, 1 failed, 1 not compared with a baseline;" in text


def test_a_trend_without_a_common_cell_says_so() -> None:
    data = rows({"engine_version": "1.0", "series_id": "a"}, {"engine_version": "2.0", "series_id": "b"})
    text = answers.trend_answer(data, hardware="H", versions=["1.0", "2.0"])
    assert text == "On H, no cell was measured with both vLLM 1.0 and 2.0: nothing can be compared."


def test_a_trend_of_nothing_says_so() -> None:
    assert "no cell that is asked for here was measured" in answers.trend_answer(rows(), hardware="H", versions=[])


def test_a_ratio_that_rose_because_the_baseline_fell_shows_the_baseline() -> None:
    data = rows(
        {"engine_version": "1.0", "estimate": 1.0, "lower": 0.9, "upper": 1.1},
        {"engine_version": "2.0", "baseline_output_tokens_per_s": 5.0},
    )
    text = answers.trend_answer(data, hardware="H", versions=["1.0", "2.0"])
    assert "clearly up in 1 of 1 cell" in text
    assert "baseline -50.0%, speculative +0.0% tokens/s" in text


def test_a_label_names_only_what_differs() -> None:
    plain = labels.cell_labels(rows({}, UNDECIDED))
    assert plain.tolist() == ["ngram-k4 · c=1", "ngram-k4 · c=4"]
    hot = labels.cell_labels(rows({}, {"temperature": 0.8, "cell_id": "c2"}))
    assert hot.tolist() == ["ngram-k4 · c=1 · T=0", "ngram-k4 · c=1 · T=0.8"]


def test_cells_that_differ_in_nothing_named_get_their_ids() -> None:
    assert labels.cell_labels(rows({}, {"cell_id": "c2"})).tolist() == ["ngram-k4 · c=1 · c1", "ngram-k4 · c=1 · c2"]


def test_loud_notes_name_cpu_dummy_weights_and_synthetic_acceptance() -> None:
    assert notes.loud(rows({})) == [notes.CPU_WARNING]
    loud = notes.loud(rows({"hardware_kind": "gpu", "weights": "dummy", "acceptance": "synthetic"}))
    assert [text.split(":")[0] for text in loud] == ["**Dummy weights", "**Synthetic acceptance"]


def test_the_noise_floor_is_missing_rather_than_zero() -> None:
    assert "not measured" in notes.noise_floor(rows({"aa_log_ratio": None}))


def test_a_prior_is_named_and_a_history_is_not() -> None:
    assert notes.start_spread(rows({})) is None
    assert "assumed prior" in str(notes.start_spread(rows({"start_variance_source": "prior"})))


def test_greedy_is_said_of_creative_workloads_only() -> None:
    assert notes.greedy(rows({})) is None
    creative = {"workload": "poems", "category": "creative"}
    assert notes.greedy(rows(creative)) == "poems ran greedy (temperature 0)."
    assert notes.greedy(rows(creative | {"temperature": 0.8})) is None


def test_dropped_prompts_are_counted() -> None:
    assert "8 (3 dropped: failed in an arm)" in notes.evidence(rows({"dropped_prompts": 1}, {"dropped_prompts": 2}))


def test_releases_are_ordered_as_releases() -> None:
    data = rows(*({"engine_version": version} for version in ("0.9.2", "0.32.0", "0.10.2")))
    assert scope.versions(data) == ["0.9.2", "0.10.2", "0.32.0"]
    assert scope.version_choice(data).labels[0] == "0.32.0"


def test_two_machines_of_one_name_are_told_apart() -> None:
    choice = scope.hardware_choice(rows({}, {"hardware_id": "h2"}).rename(columns={"sweep_at": "last_sweep_at"}))
    assert choice.labels == ["cpu · Test CPU · 2 cores · h1", "cpu · Test CPU · 2 cores · h2"]


def test_confounders_name_the_fact_the_step_and_the_arms() -> None:
    data = rows(
        {"engine_version": "1.0"},
        {"engine_version": "2.0", "baseline_model_runner": "V2", "speculative_model_runner": "V2"},
        {"engine_version": "2.0", "baseline_model_runner": "V2", "speculative_async_scheduling": False},
    ).iloc[[0, 1]]
    assert confounders.between_versions(data, versions=["1.0", "2.0"]) == [
        "vLLM 1.0 to 2.0: model runner V1 to V2 (both arms)"
    ]


def test_a_fact_the_log_does_not_say_is_no_difference() -> None:
    data = rows({"speculative_model_runner": None})
    assert confounders.between_arms(data, versions=["0.32.0"]) == []


OPEN = {"arrival": "poisson", "concurrency": None, "request_rate": 2.5}


def test_an_open_loop_is_named_by_its_arrivals_and_rate() -> None:
    assert labels.cell_labels(rows({}, OPEN | {"cell_id": "c2"})).tolist() == [
        "ngram-k4 · c=1",
        "ngram-k4 · poisson 2.5/s",
    ]
    text = answers.verdict_answer(rows(OPEN), hardware="H", engine_version="1.0")
    assert "best: ngram-k4 on structured at poisson 2.5/s" in text


def test_lengths_and_guided_decoding_are_named_where_they_differ() -> None:
    cells = rows({"prompt_tokens": 1024}, {"prompt_tokens": 4096, "guided": True})
    assert labels.cell_labels(cells).tolist() == [
        "ngram-k4 · c=1 · 1024 in · guided=False",
        "ngram-k4 · c=1 · 4096 in · guided=True",
    ]
