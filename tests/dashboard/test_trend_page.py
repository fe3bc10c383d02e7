"""How does it change across vLLM versions? The page on a real warehouse, state by state."""

from collections.abc import Callable

import pandas as pd
from streamlit.testing.v1 import AppTest

from dashboard.labels import in_order_of_load
from dashboard.notes import CPU_WARNING
from tests.dashboard.conftest import TREND, said
from tests.dashboard.sweeps import CPU, ESTIMATES, FAILED, GPU, put_sweep

Open = Callable[..., AppTest]
PANELS = 4  # two workloads at two concurrencies
CHARTS = 3  # speedup, both arms, acceptance length


def test_one_version_is_shown_and_said_to_be_no_trend(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    page = app(database_url, page=TREND)
    assert not page.exception
    assert page.title[0].value == "How does it change across vLLM versions?"
    assert "only vLLM 0.32.0 was measured: a trend needs two versions" in said(page)
    assert len(page.get("vega_lite_chart")) == PANELS * CHARTS
    assert not page.dataframe  # nothing to compare


def test_two_versions_are_compared_in_one_sentence(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="s1", day=1, version="0.9.2")
    put_sweep(database_url, sweep_id="s2", day=2, version="0.10.2", factor=1.5)  # intervals no longer touch
    page = app(database_url, page=TREND)
    assert not page.exception
    assert "from vLLM 0.9.2 to 0.10.2 the speedup is clearly up in 8 of 8 cells" in said(page)
    steps = page.dataframe[0].value
    assert len(steps) == 8
    assert set(steps["Speedup"]) == {"clearly up"}
    assert set(steps["Baseline tokens/s"]) == {"+0.0%"}


def test_overlapping_intervals_are_not_called_a_change(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="s1", day=1, version="0.31.0")
    put_sweep(database_url, sweep_id="s2", day=2, version="0.32.0", factor=1.1)
    page = app(database_url, page=TREND)
    assert "not clearly different in 8" in said(page)


def test_a_release_measured_again_counts_once(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="s1", day=1, version="0.31.0")
    put_sweep(database_url, sweep_id="s2", day=2, version="0.32.0", factor=3.0)
    put_sweep(database_url, sweep_id="s3", day=3, version="0.32.0")
    page = app(database_url, page=TREND)
    assert "not clearly different in 8" in said(page)
    assert "sweep s2" not in said(page)


def test_a_failed_version_is_a_hole_with_its_reason(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="s1", day=1, version="0.31.0", failed=[FAILED])
    put_sweep(database_url, sweep_id="s2", day=2, version="0.32.0")
    page = app(database_url, page=TREND)
    assert not page.exception
    assert "of 7 cells" in said(page)
    assert "vLLM 0.31.0 · creative · draft-k3 · c=4" in page.table[0].value["Cell"].iloc[0].replace("\\", "")


def test_engine_facts_that_differ_between_arms_are_named(app: Open, database_url: str) -> None:
    put_sweep(database_url)  # the builder's logs: async scheduling is on in the baseline only
    assert "async scheduling is off with ngram-k4, on in its baseline (vLLM 0.32.0)" in said(
        app(database_url, page=TREND)
    )


def test_two_hardwares_are_never_in_one_trend(app: Open, database_url: str) -> None:
    put_sweep(database_url, sweep_id="on-gpu", day=1, version="0.31.0", hardware=GPU)
    put_sweep(database_url, sweep_id="on-cpu", day=2, version="0.32.0", hardware=CPU)
    page = app(database_url, page=TREND)
    assert "only vLLM 0.32.0" in said(page)
    assert CPU_WARNING in [warning.value for warning in page.warning]
    page.selectbox(key="hardware").select("1x NVIDIA Test Blackwell").run()
    assert not page.exception
    assert "only vLLM 0.31.0" in said(page)
    assert not page.warning


def test_both_arms_can_be_read_as_tpot(app: Open, database_url: str) -> None:
    put_sweep(database_url)
    page = app(database_url, page=TREND)
    page.get_by_key("arms").set_value("tpot_mean_ms").run()
    assert not page.exception


def test_a_sweep_that_failed_whole_has_no_trend_but_its_reasons(app: Open, database_url: str) -> None:
    put_sweep(database_url, failed=list(ESTIMATES))
    page = app(database_url, page=TREND)
    assert not page.exception
    assert "no cell that is asked for here was measured" in said(page)
    assert len(page.table[0].value) == 8


def test_panels_are_in_the_order_of_their_load() -> None:
    rows = pd.DataFrame(
        {
            "workload": ["b", "a", "a", "a", "a"],
            "arrival": ["closed", "poisson", "closed", "closed", "closed"],
            "concurrency": [1, None, 16, 2, 1],
            "request_rate": [None, 4.0, None, None, None],
            "panel": ["b1", "a poisson", "a16", "a2", "a1"],
        }
    )
    assert in_order_of_load(rows)["panel"].tolist() == ["a1", "a2", "a16", "a poisson", "b1"]
