"""Pages made from the code are current, the picture is right, and the glossary has every word."""

import dataclasses
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import pipeline.domain
from pipeline.domain.block import OutcomeStatus, Position
from pipeline.domain.server_start import FailureClass
from pipeline.domain.verdict import SpeedupMetric, VerdictWord
from pipeline.settings import REPOSITORY
from pipeline.warehouse.tables import METADATA
from tools.docs import BEGIN, DOCS, END, pages, with_part
from tools.import_picture import essential

LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def domain_values() -> set[str]:
    """Names of the frozen values of pipeline/domain, as words: `ServerStart` is `server start`."""
    found = set()
    for module in pkgutil.iter_modules(pipeline.domain.__path__):
        for value in vars(importlib.import_module(f"pipeline.domain.{module.name}")).values():
            if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__.endswith(module.name):
                found.add(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", value.__name__).lower())
    return found


def words_of(literal: object) -> set[str]:
    return {word.replace("_", " ") for word in literal.__args__}


@pytest.mark.parametrize("page", sorted(pages()), ids=lambda path: path.name)
def test_a_page_made_from_the_code_is_current(page: Path) -> None:
    assert page.read_text() == pages()[page], "run: make docs"


def test_an_arrow_that_a_longer_way_says_is_left_out() -> None:
    edges = {"cli": {"steps", "domain"}, "steps": {"domain"}, "domain": set()}

    assert essential(edges) == {"cli": {"steps"}, "steps": {"domain"}, "domain": set()}


def test_a_part_replaces_what_is_between_the_marks_and_nothing_else() -> None:
    assert with_part(f"a\n{BEGIN}old\n{END}b\n", "new\\1\n") == f"a\n{BEGIN}new\\1\n{END}b\n"
    with pytest.raises(ValueError, match="one place"):
        with_part("a page without marks\n", "new\n")


def test_the_glossary_has_every_word_of_the_domain_and_the_warehouse() -> None:
    glossary = (DOCS / "glossary.md").read_text().lower().replace("_", " ")
    words = domain_values() | {table.name.replace("_", " ") for table in METADATA.sorted_tables}
    for literal in (Position, OutcomeStatus, FailureClass, SpeedupMetric, VerdictWord):
        words |= words_of(literal)

    assert sorted(word for word in words if word not in glossary) == []


def test_every_room_and_folder_has_a_row_in_the_architecture() -> None:
    page = (DOCS / "architecture.md").read_text()
    rooms = {path.stem for path in (REPOSITORY / "pipeline").iterdir() if not path.name.startswith((".", "_"))}
    folders = {f"{name}/" for name in ("dags", "dashboard", "sql", "checks", "tools", "docker")}

    assert sorted(name for name in rooms | folders if f"| `{name}` |" not in page) == []


def test_every_link_leads_to_a_file() -> None:
    texts = [*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md")]
    links = [(text, link) for text in texts for link in LINK.findall(text.read_text())]

    assert [f"{text.name}: {link}" for text, link in links if not (text.parent / link).exists()] == []
