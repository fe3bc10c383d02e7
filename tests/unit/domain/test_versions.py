"""Versions: newer is refused with a sentence, older is brought up to date one step at a time."""

import pytest

from pipeline.domain.versions import Document, VersionRefused, brought_up_to


def rename(document: Document) -> Document:
    return {"seconds": document["time"], "layout_version": 1}


def to_milliseconds(document: Document) -> Document:
    return document | {"seconds": document["seconds"] * 1000}


UPGRADES = {1: rename, 2: to_milliseconds}


@pytest.mark.parametrize(
    "document",
    [{"layout_version": 1, "time": 2}, {"layout_version": 2, "seconds": 2}, {"layout_version": 3, "seconds": 2000}],
)
def test_every_older_version_ends_as_the_current_one(document: Document) -> None:
    found = brought_up_to(document, current=3, upgrades=UPGRADES, name="x.json")
    assert found == {"layout_version": 3, "seconds": 2000}


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(VersionRefused, match=r"x\.json is of version 4, this release reads up to 3: update Specwatch"):
        brought_up_to({"layout_version": 4}, current=3, upgrades=UPGRADES, name="x.json")


def test_a_version_without_a_way_up_is_refused() -> None:
    with pytest.raises(VersionRefused, match="cannot bring up to date"):
        brought_up_to({"layout_version": 0}, current=3, upgrades=UPGRADES, name="x.json")


@pytest.mark.parametrize("document", [{}, {"layout_version": "1"}, {"layout_version": True}])
def test_a_document_without_a_version_is_left_to_its_reader(document: Document) -> None:
    assert brought_up_to(document, current=3, upgrades=UPGRADES, name="x.json") == document
