"""What a colour and a shape mean, the same on every page; each goes with a shape or a word, for readers without it.

Every colour has at least 4.5:1 contrast on white, and the verdict colours differ in lightness for readers who do not
tell red from green.
"""

from collections.abc import Iterable
from dataclasses import dataclass

VERDICT_WORDS = {"worth_it": "worth it", "not_worth_it": "not worth it", "undecided": "undecided"}
VERDICT_COLOURS = {"worth_it": "#00795a", "not_worth_it": "#b33a00", "undecided": "#5b6472"}
VERDICT_SHAPES = {"worth_it": "triangle-up", "not_worth_it": "triangle-down", "undecided": "circle"}
VERDICT_GLYPHS = {"worth_it": "▲", "not_worth_it": "▼", "undecided": "●"}

BASELINE_ARM = "baseline"


@dataclass(frozen=True, slots=True)
class ArmStyle:
    """How one arm is drawn. Shapes are none of the verdicts' shapes."""

    colour: str
    shape: str
    glyph: str  # the shape in text
    dash: tuple[int, ...]


BASELINE_STYLE = ArmStyle("#222222", "square", "■", (2, 3))
ARM_STYLES = (
    ArmStyle("#1f5fa8", "diamond", "◆", (1, 0)),
    ArmStyle("#8e3ec6", "cross", "✚", (8, 3)),
    ArmStyle("#b0246f", "stroke", "▬", (10, 3, 2, 3)),
    ArmStyle("#0b7285", "wedge", "◢", (5, 5)),
    ArmStyle("#7a5200", "arrow", "➤", (14, 4)),
)

MUTED = "#5b6472"
TEXT_SIZE = 13


def verdict_phrase(verdict: str | None, *, harmful: bool) -> str:
    """Return the verdict with its glyph, such as `▼ not worth it (harmful)`."""
    if verdict not in VERDICT_WORDS:
        return "no verdict"
    suffix = " (harmful)" if harmful else ""
    return f"{VERDICT_GLYPHS[verdict]} {VERDICT_WORDS[verdict]}{suffix}"


def verdict_key() -> str:
    """Return one line that says what the shapes mean."""
    return " · ".join(f"{VERDICT_GLYPHS[word]} {name}" for word, name in VERDICT_WORDS.items())


def arm_styles(methods: Iterable[str]) -> dict[str, ArmStyle]:
    """Return the style of the baseline and of each method.

    Give it all methods of the page, not those of one chart, so that an arm looks the same in each of its charts.
    """
    styles = {BASELINE_ARM: BASELINE_STYLE}
    for index, method in enumerate(sorted(set(methods) - {BASELINE_ARM})):
        styles[method] = ARM_STYLES[index % len(ARM_STYLES)]
    return styles
