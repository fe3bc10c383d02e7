"""Creative prompts: poetry and brainstorming, whose answers hardly repeat the question."""

from pipeline.domain.workload import Prompt, Workload

_TEXTS: tuple[tuple[str, str], ...] = (
    ("poetry", "Write a short poem about a lighthouse keeper who has never seen the sea in daylight."),
    ("brainstorming", "Brainstorm unusual uses for a broken grand piano in a small seaside town."),
    ("poetry", "Write free verse about the last train of the night and the one passenger who stays seated."),
    (
        "brainstorming",
        "Suggest names and short ideas for a museum that shows only things which were never finished.",
    ),
    ("poetry", "Write a poem in which winter apologises to a garden."),
    (
        "brainstorming",
        "Come up with surprising plots for a story told entirely by the furniture of one room.",
    ),
    ("poetry", "Write a poem about the sound a city makes just before it rains."),
    (
        "brainstorming",
        "Invent a festival for a village that has lost its bell, and describe how the day unfolds.",
    ),
)

CREATIVE = Workload(
    name="creative",
    category="creative",
    description="Poetry and brainstorming: open answers that hardly repeat the question.",
    prompts=tuple(
        Prompt(prompt_id=f"creative-{number:02d}-{kind}", kind=kind, messages=(("user", text),))
        for number, (kind, text) in enumerate(_TEXTS, start=1)
    ),
)
