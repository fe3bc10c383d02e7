"""Long papers of a nominal length, put together from sentences that we wrote: minutes, reports, notes, letters, tapes.

Every section is about one thing at one place, and holds who does the work, for how much, until when, in whose charge
and why: what a question can ask for. People, places and firms come again and again, as they do in real papers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from pipeline.workloads.choosing import Chooser
from pipeline.workloads.reading import entries

GENRES = ("minutes", "incident", "field", "letters", "review", "interview")
_SHORTEST = 650  # characters of the shortest section that says all it must
# The order in which a section tells things; `|` begins a paragraph. Those in capitals are never left out.
_PLAN = (
    *("OPEN", "matter", "figure", "matter", "|"),
    *("matter", "dispute", "REASON", "FACT", "|"),
    *("aside", "figure", "close"),
)


@dataclass(slots=True)
class Section:
    """One paper: its facts, and what it says, a list of sentences for each paragraph."""

    title: str
    facts: Mapping[str, str]
    paragraphs: list[list[str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Title and paragraphs."""
        return "\n\n".join([self.title, *(" ".join(paragraph) for paragraph in self.paragraphs if paragraph)])


class _Filling(dict[str, str]):
    """A section's facts, and what differs from sentence to sentence: that is chosen when a slot asks for it."""

    def __init__(self, facts: Mapping[str, str], choose: Chooser) -> None:
        super().__init__(facts)
        self._choose = choose

    def __missing__(self, slot: str) -> str:
        choose = self._choose
        if slot in {"material", "weather"}:
            return choose.next_of(slot, _words(slot))
        if slot in {"small", "large"}:
            amount = choose.between(800, 9900, step=100) if slot == "small" else choose.between(20, 390) * 1000
            return f"{amount:,} euros"
        low, high = {"n": (4, 19), "m": (22, 188), "pct": (6, 61), "old": (1911, 1979)}[slot]
        return str(choose.between(low, high))


@dataclass(frozen=True, slots=True)
class _World:
    """Who and what one prompt's papers are about."""

    people: Sequence[str]
    places: Sequence[str]
    firms: Sequence[str]
    subjects: list[tuple[str, str]]  # (thing, place), each for one section


def sections(choose: Chooser, *, characters: int) -> list[Section]:
    """Return sections that are `characters` long together, to within a sentence."""
    world = _world(choose, characters)
    genres = choose.some(GENRES, len(GENRES))
    found: list[Section] = []
    left = characters
    while left > _SHORTEST:
        section = _section(choose, world, genre=genres[len(found) % len(genres)], room=left)
        found.append(section)
        left -= len(section.text) + 2
    while left > 0:
        section = choose.one(found)
        sentence = _sentence(choose, section.facts, role=f"{section.facts['genre']}.matter")
        section.paragraphs[0].append(sentence)
        left -= len(sentence) + 1
    return found


def filled(text: str, *, facts: Mapping[str, str]) -> str:
    """Return a template with its slots filled."""
    return text.format_map(facts)


def instruction(choose: Chooser, kind: str) -> str:
    """Return one of the instructions or questions of that kind."""
    return choose.next_of(kind, [text for found, text in entries("instructions.txt") if found == kind])


def absent_subject(choose: Chooser, found: Sequence[Section]) -> dict[str, str]:
    """Return a thing and a place that both occur in the papers, but not together."""
    told = {(section.facts["thing"], section.facts["place"]) for section in found}
    apart = [(t, p) for t in sorted({t for t, _ in told}) for p in sorted({p for _, p in told}) if (t, p) not in told]
    thing, place = choose.one(apart)
    return {"thing": thing, "place": place}


def _world(choose: Chooser, characters: int) -> _World:
    count = characters // _SHORTEST + 1
    first, last = _words("first"), _words("last")
    people = [f"{a} {b}" for a, b in zip(choose.some(first, 60), choose.some(last, 60), strict=True)]
    places = choose.some(_words("place"), max(4, count // 2))
    things = choose.some(_words("thing"), max(6, count))
    subjects = choose.some([(thing, place) for thing in things for place in places], count)
    return _World(
        people=people[: max(6, count // 2)],
        places=places,
        firms=choose.some(_words("firm"), max(5, count // 3)),
        subjects=subjects,
    )


def _section(choose: Chooser, world: _World, *, genre: str, room: int) -> Section:
    facts = _facts(choose, world, genre=genre)
    section = Section(_sentence(choose, facts, role=f"{genre}.title"), facts)
    plan = {position: _told(choose, facts, role) for position, role in enumerate(_PLAN) if role.isupper()}
    length = len(section.title) + sum(len(sentence) + 1 for sentence in plan.values()) + 6
    optional = [position for position, role in enumerate(_PLAN) if role.islower()]
    for position in choose.some(optional, len(optional) - choose.below(3)):
        if length >= room:
            break
        plan[position] = _told(choose, facts, _PLAN[position])
        length += len(plan[position]) + 1
    section.paragraphs = [[]]
    for position, role in enumerate(_PLAN):
        if role == "|":
            section.paragraphs.append([])
        elif position in plan:
            section.paragraphs[-1].append(plan[position])
    return section


def _told(choose: Chooser, facts: Mapping[str, str], role: str) -> str:
    return _sentence(choose, facts, role=f"{facts['genre']}.{role.lower()}")


def _sentence(choose: Chooser, facts: Mapping[str, str], *, role: str) -> str:
    return filled(choose.next_of(role, _words(role)), facts=_Filling(facts, choose))


def _facts(choose: Chooser, world: _World, *, genre: str) -> dict[str, str]:
    """What stays the same inside a section."""
    lead, other, third = choose.some(world.people, 3)
    thing, place = world.subjects.pop()
    return {
        "genre": genre,
        "lead": lead,
        "other": other,
        "third": third,
        "thing": thing,
        "place": place,
        "firm": choose.one(world.firms),
        "amount": f"{choose.between(2400, 189900, step=300):,} euros",
        "due": _date(choose),
        "day": _date(choose),
        "reason": choose.next_of("reason", _words("reason")),
    }


def _date(choose: Chooser) -> str:
    return f"{choose.between(1, 28)} {choose.one(_words('month'))}"


@cache
def _blocks() -> Mapping[str, tuple[str, ...]]:
    split = {"first": " ", "last": " "}
    return {
        kind: tuple(text.split(split.get(kind, "|" if "|" in text else "\n"))) for kind, text in entries("blocks.txt")
    }


def _words(kind: str) -> tuple[str, ...]:
    return _blocks()[kind]
