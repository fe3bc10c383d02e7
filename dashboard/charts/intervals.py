"""The verdict's picture: a point and its 95% interval a cell, against no change and against the margin."""

import altair as alt
import pandas as pd

from dashboard import figures
from dashboard.charts import palette
from dashboard.charts.axes import speedup_ticks
from dashboard.charts.guard import refuse_mixtures

ROW_HEIGHT = 48
AROUND = 124  # title, names of the reference lines, axis: Streamlit counts them into the height


def interval_chart(rows: pd.DataFrame, *, domain: tuple[float, float], title: str | None = None) -> alt.LayerChart:
    """Return the interval plot of decided or undecided cells, best first; `rows` need a `label` column.

    `domain` is shared by the page's charts, so that they can be read against each other.
    """
    data = _prepared(refuse_mixtures(rows))
    y = alt.Y("label:N", sort=list(data["label"]), title=None, axis=_label_axis())
    tooltip = [
        alt.Tooltip("label:N", title="cell"),
        alt.Tooltip("speedup_text:N", title="speedup"),
        alt.Tooltip("phrase:N", title="verdict"),
        alt.Tooltip("pairs:Q", title="prompts in both arms"),
        alt.Tooltip("probability_of_loss:Q", title="P(slower)", format=".0%"),
    ]
    base = alt.Chart(data).encode(y=y, color=_verdict_colour())
    bar = base.mark_rule(strokeWidth=3, yOffset=9, clip=True).encode(
        x=_speedup_axis("lower", domain), x2="upper:Q", tooltip=tooltip
    )
    point = base.mark_point(size=120, filled=True, opacity=1, yOffset=9, clip=True).encode(
        x=_speedup_axis("estimate", domain), shape=_verdict_shape(), tooltip=tooltip
    )
    text = base.mark_text(
        align="left",
        baseline="middle",
        fontSize=palette.TEXT_SIZE,
        yOffset=-10,
        stroke="white",
        strokeWidth=4,
    ).encode(x=alt.value(4), text="text:N", color=alt.value("white"))
    ink = base.mark_text(align="left", baseline="middle", fontSize=palette.TEXT_SIZE, yOffset=-10).encode(
        x=alt.value(4), text="text:N"
    )
    chart = alt.layer(*_references(data, domain), bar, point, text, ink)
    return chart.properties(
        height=ROW_HEIGHT * len(data) + AROUND,
        title=alt.TitleParams(title or "", anchor="start", fontSize=15),
    )


def _prepared(rows: pd.DataFrame) -> pd.DataFrame:
    data = rows.dropna(subset=["estimate", "lower", "upper"]).sort_values("estimate", ascending=False)
    data = data.assign(
        speedup_text=[
            figures.speedup(row.estimate, row.lower, row.upper)
            for row in data[["estimate", "lower", "upper"]].itertuples()
        ],
        phrase=[
            palette.verdict_phrase(verdict, harmful=bool(harmful))
            for verdict, harmful in zip(data["verdict"], data["harmful"], strict=True)
        ],
    )
    data["text"] = data["speedup_text"] + "  " + data["phrase"]
    columns = ["label", "estimate", "lower", "upper", "margin", "verdict", "pairs", "probability_of_loss"]
    return data[[*columns, "speedup_text", "phrase", "text"]]


def _label_axis() -> alt.Axis:
    return alt.Axis(labelLimit=240, labelFontSize=palette.TEXT_SIZE, ticks=False, domain=False, labelPadding=8)


def _speedup_axis(field: str, domain: tuple[float, float]) -> alt.X:
    return alt.X(
        f"{field}:Q",
        title="speedup (log scale)",
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(values=speedup_ticks(domain), labelExpr="format(datum.value, '.3~g') + 'x'", labelFontSize=12),
    )


def _verdict_colour() -> alt.Color:
    words = list(palette.VERDICT_COLOURS)
    scale = alt.Scale(domain=words, range=list(palette.VERDICT_COLOURS.values()))
    return alt.Color("verdict:N", scale=scale, legend=None)


def _verdict_shape() -> alt.Shape:
    words = list(palette.VERDICT_SHAPES)
    scale = alt.Scale(domain=words, range=list(palette.VERDICT_SHAPES.values()))
    return alt.Shape("verdict:N", scale=scale, legend=None)


def _references(data: pd.DataFrame, domain: tuple[float, float]) -> list[alt.Chart]:
    margins = sorted(set(data["margin"].dropna()))
    lines = pd.DataFrame(
        [{"at": 1.0, "name": "no change"}] + [{"at": at, "name": f"margin {at:.2f}x"} for at in margins]
    )
    position = _speedup_axis("at", domain)
    dash = alt.StrokeDash(
        "name:N",
        scale=alt.Scale(domain=list(lines["name"]), range=[[1, 0]] + [[5, 4]] * len(margins)),
        legend=None,
    )
    rules = alt.Chart(lines).mark_rule(color=palette.MUTED, strokeWidth=1.2).encode(x=position, strokeDash=dash)
    names = [
        alt.Chart(lines[lines["name"] == "no change"]).mark_text(align="right", dx=-4),
        alt.Chart(lines[lines["name"] != "no change"]).mark_text(align="left", dx=4),
    ]
    return [rules] + [
        name.encode(x=position, y=alt.value(-7), text="name:N", color=alt.value(palette.MUTED)) for name in names
    ]
