"""A cell over vLLM versions: the speedup, and beneath it what each arm did, because a ratio alone can mislead.

Versions are ordinal: the distance between two releases means nothing. A version without a figure stays a hole.
"""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from dashboard import figures
from dashboard.charts import palette
from dashboard.charts.axes import speedup_ticks
from dashboard.charts.guard import refuse_mixtures
from dashboard.charts.palette import ArmStyle

ABSOLUTES = {
    "output_tokens_per_s": "output tokens/s",
    "tpot_mean_ms": "TPOT, ms/token",
    "step_time_ms": "step time, ms",
}
SPEEDUP_HEIGHT = 220
ARM_HEIGHT = 150
AXIS_EXTENT = 46  # alike for all charts of a panel, so that their versions stand under each other


def speedup_chart(
    rows: pd.DataFrame,
    *,
    versions: Sequence[str],
    styles: Mapping[str, ArmStyle],
    domain: tuple[float, float],
) -> alt.LayerChart:
    """Return the speedup with its interval over versions, a line an arm; `rows` need an `arm` column."""
    data = refuse_mixtures(rows).dropna(subset=["estimate", "lower", "upper"])
    data = data.assign(
        text=[figures.speedup(*v) for v in data[["estimate", "lower", "upper"]].itertuples(index=False, name=None)],
        phrase=[
            palette.verdict_phrase(verdict, harmful=bool(harmful))
            for verdict, harmful in zip(data["verdict"], data["harmful"], strict=True)
        ],
    )[["engine_version", "arm", "estimate", "lower", "upper", "margin", "verdict", "text", "phrase"]]
    data = with_runs(data, versions=versions)
    tooltip = [
        alt.Tooltip("engine_version:N", title="vLLM"),
        alt.Tooltip("arm:N"),
        alt.Tooltip("text:N", title="speedup"),
        alt.Tooltip("phrase:N", title="verdict"),
    ]
    base = alt.Chart(data).encode(x=_versions(versions), xOffset=_offset(styles, data), color=_arm_colour(styles, data))
    line = base.mark_line(strokeWidth=1.5).encode(
        y=_speedup("estimate", domain), strokeDash=_arm_dash(styles, data), detail="run:N"
    )
    bar = base.mark_rule(strokeWidth=3, clip=True).encode(y=_speedup("lower", domain), y2="upper:Q", tooltip=tooltip)
    words = list(palette.VERDICT_SHAPES)
    shapes = alt.Scale(domain=words, range=list(palette.VERDICT_SHAPES.values()))
    point = base.mark_point(size=110, filled=True, opacity=1, clip=True).encode(
        y=_speedup("estimate", domain),
        shape=alt.Shape("verdict:N", scale=shapes, legend=None),
        tooltip=tooltip,
    )
    return alt.layer(_references(data, domain), line, bar, point).properties(height=SPEEDUP_HEIGHT)


def arms_chart(
    rows: pd.DataFrame, *, metric: str, versions: Sequence[str], styles: Mapping[str, ArmStyle]
) -> alt.LayerChart:
    """Return both arms' own figure over versions: the baseline once, and each speculative arm. The axis starts at 0."""
    data = arm_values(refuse_mixtures(rows), metric=metric)
    return _lines(data, versions=versions, styles=styles, title=ABSOLUTES[metric], floor=0)


def acceptance_chart(rows: pd.DataFrame, *, versions: Sequence[str], styles: Mapping[str, ArmStyle]) -> alt.LayerChart:
    """Return the mean acceptance length over versions; 1 means that no drafted token was accepted."""
    data = refuse_mixtures(rows)[["engine_version", "arm", "mean_acceptance_length"]]
    data = data.rename(columns={"mean_acceptance_length": "value"}).dropna(subset=["value"])
    return _lines(data, versions=versions, styles=styles, title="acceptance length", floor=1)


def arm_values(rows: pd.DataFrame, *, metric: str) -> pd.DataFrame:
    """Return one row an arm and version: engine_version, arm, value. The arms of a panel share their baseline.

    Where methods of one version were measured in several sweeps, the baseline is that of the latest.
    """
    baseline = rows.dropna(subset=[f"baseline_{metric}"]).sort_values("sweep_at")
    baseline = baseline.drop_duplicates("engine_version", keep="last")
    parts = [
        baseline.assign(arm=palette.BASELINE_ARM, value=baseline[f"baseline_{metric}"]),
        rows.assign(value=rows[f"speculative_{metric}"]),
    ]
    data = pd.concat([part[["engine_version", "arm", "value"]] for part in parts], ignore_index=True)
    return data.dropna(subset=["value"])


def with_runs(rows: pd.DataFrame, *, versions: Sequence[str]) -> pd.DataFrame:
    """Number each arm's runs of neighbouring versions (column `run`): a line ends where a version has no figure."""
    at = rows["engine_version"].map({version: number for number, version in enumerate(versions)})
    return rows.assign(run=at - at.groupby(rows["arm"]).rank(method="dense"))


def _lines(
    data: pd.DataFrame, *, versions: Sequence[str], styles: Mapping[str, ArmStyle], title: str, floor: float
) -> alt.LayerChart:
    data = with_runs(data, versions=versions)
    present = _present(styles, data)
    y = alt.Y(
        "value:Q",
        title=title,
        scale=alt.Scale(domainMin=floor, zero=False, nice=True),
        axis=alt.Axis(minExtent=AXIS_EXTENT, tickCount=4),
    )
    base = alt.Chart(data).encode(x=_versions(versions), y=y, color=_arm_colour(styles, data))
    shape = alt.Shape(
        "arm:N", scale=alt.Scale(domain=present, range=[styles[arm].shape for arm in present]), legend=None
    )
    line = base.mark_line(strokeWidth=1.5).encode(strokeDash=_arm_dash(styles, data), detail="run:N")
    point = base.mark_point(size=90, filled=True, opacity=1).encode(
        shape=shape,
        tooltip=[
            alt.Tooltip("engine_version:N", title="vLLM"),
            alt.Tooltip("arm:N"),
            alt.Tooltip("value:Q", title=title, format=".2f"),
        ],
    )
    return alt.layer(line, point).properties(height=ARM_HEIGHT)


def _versions(versions: Sequence[str]) -> alt.X:
    return alt.X(
        "engine_version:O",
        sort=list(versions),
        scale=alt.Scale(domain=list(versions)),
        title=None,
        axis=alt.Axis(labelAngle=0, labelFontSize=12, labelOverlap="greedy"),
    )


def _offset(styles: Mapping[str, ArmStyle], data: pd.DataFrame) -> alt.XOffset:
    present = _present(styles, data)
    return alt.XOffset("arm:N", scale=alt.Scale(domain=present, paddingOuter=1))


def _arm_colour(styles: Mapping[str, ArmStyle], data: pd.DataFrame) -> alt.Color:
    present = _present(styles, data)
    return alt.Color(
        "arm:N", scale=alt.Scale(domain=present, range=[styles[arm].colour for arm in present]), legend=None
    )


def _arm_dash(styles: Mapping[str, ArmStyle], data: pd.DataFrame) -> alt.StrokeDash:
    present = _present(styles, data)
    dashes = [list(styles[arm].dash) for arm in present]
    return alt.StrokeDash("arm:N", scale=alt.Scale(domain=present, range=dashes), legend=None)


def _present(styles: Mapping[str, ArmStyle], data: pd.DataFrame) -> list[str]:
    here = set(data["arm"])
    return [arm for arm in styles if arm in here]


def _speedup(field: str, domain: tuple[float, float]) -> alt.Y:
    return alt.Y(
        f"{field}:Q",
        title="speedup (log scale)",
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(
            minExtent=AXIS_EXTENT,
            values=speedup_ticks(domain),
            labelExpr="format(datum.value, '.3~g') + 'x'",
        ),
    )


def _references(data: pd.DataFrame, domain: tuple[float, float]) -> alt.Chart:
    margins = sorted(set(data["margin"].dropna()))
    lines = pd.DataFrame({"at": [1.0, *margins], "name": ["no change", *(f"margin {m:.2f}x" for m in margins)]})
    return (
        alt.Chart(lines)
        .mark_rule(color=palette.MUTED, strokeWidth=1.2)
        .encode(
            y=_speedup("at", domain),
            detail="name:N",
            strokeDash=alt.condition("datum.at == 1", alt.value([1, 0]), alt.value([5, 4])),
            tooltip=[alt.Tooltip("name:N")],
        )
    )
