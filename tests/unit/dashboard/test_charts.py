"""Charts without Streamlit: what is drawn, on which axis, and what is never drawn together."""

from typing import Any

import pandas as pd
import pytest

from dashboard.charts import palette, trend
from dashboard.charts.axes import speedup_domain, speedup_ticks
from dashboard.charts.guard import COMPARABLE, MixedEvidence, refuse_mixtures
from dashboard.charts.intervals import interval_chart
from tests.unit.dashboard.rows import rows

LOSS = {
    "label": "draft-k3 · c=1",
    "estimate": 0.8,
    "lower": 0.7,
    "upper": 0.9,
    "verdict": "not_worth_it",
    "harmful": True,
}
VERSIONS = ["0.9.2", "0.10.2"]


def layers(chart: Any, mark: str) -> list[dict[str, Any]]:
    return [layer for layer in chart.to_dict()["layer"] if layer["mark"]["type"] == mark]


def values(chart: Any, layer: dict[str, Any]) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    return spec["datasets"][layer.get("data", spec.get("data", {}))["name"]]


def test_every_cell_has_a_point_inside_its_interval() -> None:
    chart = interval_chart(rows({}, LOSS), domain=(0.5, 3.0))
    point, bar = layers(chart, "point")[0], layers(chart, "rule")[1]
    assert point["encoding"]["x"]["field"] == "estimate"
    assert (bar["encoding"]["x"]["field"], bar["encoding"]["x2"]["field"]) == ("lower", "upper")
    assert [(r["lower"], r["estimate"], r["upper"]) for r in values(chart, point)] == [(1.5, 2.0, 2.5), (0.7, 0.8, 0.9)]


def test_the_axis_is_logarithmic_and_the_one_that_was_asked_for() -> None:
    point = layers(interval_chart(rows({}), domain=(0.5, 3.0)), "point")[0]
    assert point["encoding"]["x"]["scale"] == {"type": "log", "domain": [0.5, 3.0], "nice": False}


def test_a_verdict_has_a_colour_and_a_shape_of_its_own() -> None:
    encoding = layers(interval_chart(rows({}, LOSS), domain=(0.5, 3.0)), "point")[0]["encoding"]
    for channel in ("color", "shape"):
        assert encoding[channel]["field"] == "verdict"
        assert len(set(encoding[channel]["scale"]["range"])) == 3


def test_no_change_and_the_margin_are_drawn() -> None:
    chart = interval_chart(rows({}), domain=(0.5, 3.0))
    lines = values(chart, layers(chart, "rule")[0])
    assert [(line["at"], line["name"]) for line in lines] == [(1.0, "no change"), (1.05, "margin 1.05x")]


def test_the_interval_and_the_verdict_stand_in_text_beside_the_bar() -> None:
    chart = interval_chart(rows({}, LOSS), domain=(0.5, 3.0))
    texts = [row["text"] for row in values(chart, layers(chart, "text")[-1])]
    assert texts == ["2.00x [1.50, 2.50]  ▲ worth it", "0.80x [0.70, 0.90]  ▼ not worth it (harmful)"]


def test_the_best_cell_comes_first() -> None:
    chart = interval_chart(rows(LOSS, {}), domain=(0.5, 3.0))
    assert layers(chart, "point")[0]["encoding"]["y"]["sort"] == ["ngram-k4 · c=1", "draft-k3 · c=1"]


def test_a_cell_without_an_interval_is_left_to_the_list_below() -> None:
    chart = interval_chart(rows({}, {"estimate": None, "lower": None, "upper": None}), domain=(0.5, 3.0))
    assert len(values(chart, layers(chart, "point")[0])) == 1


@pytest.mark.parametrize("column", COMPARABLE)
def test_what_is_not_comparable_is_refused(column: str) -> None:
    mixed = rows({column: "one"}, {column: "two"})
    with pytest.raises(MixedEvidence, match=f"mix {column}: one, two"):
        interval_chart(mixed, domain=(0.5, 3.0))


def test_what_is_comparable_passes_unchanged() -> None:
    alike = rows({}, LOSS)
    assert refuse_mixtures(alike) is alike


def test_the_domain_holds_intervals_no_change_and_margin() -> None:
    low, high = speedup_domain(rows({"lower": 2.0, "upper": 4.0}))
    assert (low, high) == (1.0 / 1.05, 4.0 * 1.05)


def test_a_runaway_interval_does_not_take_the_axis_with_it() -> None:
    assert speedup_domain(rows({"lower": 0.001, "upper": 900.0})) == (0.1, 20.0)


def test_ticks_thin_out_on_a_wide_axis() -> None:
    assert speedup_ticks((0.9, 1.6)) == [1.0, 1.25, 1.5]
    assert speedup_ticks((0.1, 20.0)) == [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]


def test_versions_are_ordinal_in_the_order_given() -> None:
    data = rows(*({"engine_version": version} for version in VERSIONS))
    styles = palette.arm_styles(data["arm"])
    for chart in (
        trend.speedup_chart(data, versions=VERSIONS, styles=styles, domain=(0.5, 3.0)),
        trend.arms_chart(data, metric="output_tokens_per_s", versions=VERSIONS, styles=styles),
        trend.acceptance_chart(data, versions=VERSIONS, styles=styles),
    ):
        x = layers(chart, "point")[0]["encoding"]["x"]
        assert (x["type"], x["sort"]) == ("ordinal", VERSIONS)


def test_the_trend_draws_intervals() -> None:
    data = rows({})
    chart = trend.speedup_chart(data, versions=["0.32.0"], styles=palette.arm_styles(data["arm"]), domain=(0.5, 3.0))
    bar = next(layer for layer in layers(chart, "rule") if "y2" in layer["encoding"])
    assert (bar["encoding"]["y"]["field"], bar["encoding"]["y2"]["field"]) == ("lower", "upper")


def test_a_line_ends_where_a_version_has_no_figure() -> None:
    found = trend.with_runs(
        pd.DataFrame({"arm": ["a", "a", "b", "b", "a"], "engine_version": ["1", "2", "2", "3", "4"]}),
        versions=["1", "2", "3", "4"],
    )
    assert found["run"].tolist() == [-1, -1, 0, 0, 0]  # a: 1 and 2, then 4; b: 2 and 3


def test_the_baseline_of_a_panel_is_drawn_once_a_version() -> None:
    data = rows({}, {"arm": "draft-k3", "speculative_output_tokens_per_s": 8.0})
    drawn = trend.arm_values(data, metric="output_tokens_per_s")
    assert sorted(zip(drawn["arm"], drawn["value"], strict=True)) == [
        ("baseline", 10.0),
        ("draft-k3", 8.0),
        ("ngram-k4", 20.0),
    ]


def test_an_absolute_axis_starts_at_zero_and_an_acceptance_length_at_one() -> None:
    data = rows({})
    styles = palette.arm_styles(data["arm"])
    arms = trend.arms_chart(data, metric="output_tokens_per_s", versions=["0.32.0"], styles=styles)
    length = trend.acceptance_chart(data, versions=["0.32.0"], styles=styles)
    assert layers(arms, "point")[0]["encoding"]["y"]["scale"]["domainMin"] == 0
    assert layers(length, "point")[0]["encoding"]["y"]["scale"]["domainMin"] == 1


def test_a_trend_of_two_hardwares_is_refused() -> None:
    data = rows({}, {"hardware_id": "h2"})
    with pytest.raises(MixedEvidence):
        trend.speedup_chart(data, versions=["0.32.0"], styles=palette.arm_styles(data["arm"]), domain=(0.5, 3.0))


def test_an_arm_keeps_its_style_whatever_else_is_drawn() -> None:
    assert palette.arm_styles(["b", "a"])["a"] == palette.arm_styles(["a", "b", "c"])["a"]
    assert len({style.shape for style in palette.arm_styles("abc").values()}) == 4
