"""Is it worth it? The page on a real warehouse, state by state."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from dashboard.notes import CPU_WARNING
from tests.dashboard.conftest import said
from tests.dashboard.sweeps import ESTIMATES, FAILED, GPU, put_sweep

Open = Callable[..., AppTest]


def test_answers_in_one_sentence_with_counts_and_the_best(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    page = app(database_url)
    assert not page.exception
    assert page.title[0].value == "Is it worth it?"
    assert (
        "On cpu · Test CPU · 2 cores, vLLM 0.32.0: worth it in 2 of 8 cells, not in 4 (4 harmful), undecided in 2; "
        "best: ngram-k4 on structured at concurrency 1, 1.62x [1.46, 1.78]."
    ) in said(page)


def test_says_that_a_cpu_says_nothing_about_a_gpu(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    assert CPU_WARNING in [warning.value for warning in app(database_url).warning]


def test_the_table_holds_every_judged_cell_best_first(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    table = app(database_url).dataframe[0].value
    assert len(table) == 8
    assert table["Speedup"].iloc[0] == "1.62x [1.46, 1.78]"
    assert table["Verdict"].iloc[-1] == "▼ not worth it (harmful)"
    assert table["Acceptance rate"].iloc[0] == 0.5  # 12 of 24
    assert table["Acceptance length"].iloc[0] == 3.0  # 1 + 12 / 6
    assert table["Starts (arm / baseline)"].iloc[0] == "1 / 2"


def test_the_captions_name_n_hardware_filters_noise_prior_and_source(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="night-7")
    text = said(app(database_url))
    assert "prompts in both arms: 2; repetitions: 2; server starts: 1 speculative, 2 baseline" in text
    assert "Hardware: cpu · Test CPU · 2 cores. Filters: none." in text
    assert "Noise floor of a night (A/A: closing against opening baseline): +0.0%" in text
    assert "assumed prior" in text
    assert "creative ran greedy (temperature 0)." in text
    assert "sweep night-7 of 2026-01-01 02:00 UTC (smoke, test)" in text


def test_a_failed_cell_is_a_row_with_its_reason(app: Open, database_url: str) -> None:
    put_sweep(database_url, failed=[FAILED])
    page = app(database_url)
    assert "not in 3 (3 harmful), undecided in 2, 1 failed" in said(page)
    assert len(page.dataframe[0].value) == 7
    lost = page.table[0].value
    assert list(lost.index) == ["failed"]
    assert lost["Cell"].iloc[0].replace("\\", "") == "creative · draft-k3 · c=4"
    assert "out_of_memory: the server ran out of *memory* [rank0]" in lost["Reason"].iloc[0].replace("\\", "")


def test_two_hardwares_are_never_on_one_page(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="on-gpu", day=1, hardware=GPU, factor=1.5)
    put_sweep(database_url, sweep_id="on-cpu", day=2)
    page = app(database_url)
    hardware = page.selectbox(key="hardware")
    assert hardware.options == ["cpu · Test CPU · 2 cores", "1x NVIDIA Test Blackwell"]  # the latest first
    assert len(page.dataframe[0].value) == 8
    assert "on-gpu" not in said(page)
    page = hardware.select("1x NVIDIA Test Blackwell").run()
    assert not page.exception
    assert len(page.dataframe[0].value) == 8
    assert page.dataframe[0].value["Speedup"].iloc[0] == "2.43x [2.19, 2.67]"  # 1.5 x 1.62
    assert "on-cpu" not in said(page)
    assert not page.warning


def test_an_address_is_a_view(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="s1", day=1, version="0.31.0", factor=2.0)
    put_sweep(database_url, sweep_id="s2", day=2, version="0.32.0")
    page = app(database_url, query={"version": "0.31.0", "workload": "creative", "cell": "creative · ngram-k4 · c=4"})
    assert page.selectbox(key="version").value == "0.31.0"
    assert "vLLM 0.31.0: worth it in 4 of 4 cells" in said(page)
    assert "Filters: workload creative." in said(page)
    assert page.selectbox(key="cell").value == "creative · ngram-k4 · c=4"


def test_an_outdated_address_falls_back_to_the_newest_version(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    page = app(database_url, query={"version": "0.1.0", "hardware": "gone"})
    assert not page.exception
    assert page.selectbox(key="version").value == "0.32.0"


def test_the_chosen_cell_names_its_reasons(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    assert "- half of the drafted tokens are accepted" in said(app(database_url))


def test_filters_narrow_the_cells_that_are_counted(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    page = app(database_url)
    page.multiselect(key="method_name").select("ngram-k4").run()
    assert "worth it in 2 of 4 cells" in said(page)
    assert "Filters: method ngram-k4." in said(page)


def test_a_sweep_that_failed_whole_says_so(app: Open, database_url: str) -> None:
    put_sweep(database_url, failed=list(ESTIMATES))
    page = app(database_url)
    assert not page.exception
    assert "no verdict, because 8 failed." in said(page)
    assert len(page.table[0].value) == 8
