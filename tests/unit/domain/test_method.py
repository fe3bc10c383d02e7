"""What drafts, and where acceptance comes from."""

import pytest

from pipeline.domain.method import Method, drafting
from pipeline.domain.model import Model
from pipeline.engines.registry import load_registry

DRAFT = Model(name="d", source="d")


@pytest.mark.parametrize("name", sorted(name for name, entry in load_registry().methods.items() if entry.draft))
def test_a_method_that_the_registry_wants_a_draft_for_drafts_with_one(name: str) -> None:
    assert drafting(name) in {"model", "head"}


@pytest.mark.parametrize("name", ["none", "ngram", "ngram_gpu", "suffix", "mtp"])
def test_some_methods_draft_with_what_the_target_has(name: str) -> None:
    assert drafting(name) == "nothing"


def test_a_method_that_this_release_does_not_know_is_passed_on() -> None:
    assert drafting("custom:new") is None
    assert not Method(name="n", method="custom:new", draft=DRAFT).draft_is_head


def test_a_head_is_a_draft_of_a_method_of_heads() -> None:
    assert Method(name="e", method="eagle3", draft=DRAFT).draft_is_head
    assert not Method(name="e", method="eagle3").draft_is_head
    assert not Method(name="d", method="draft_model", draft=DRAFT).draft_is_head


def test_acceptance_is_real_unless_it_is_prescribed() -> None:
    prescribed = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2.5}
    assert Method(name="none", method="none").acceptance == "none"
    assert Method(name="d", method="draft_model").acceptance == "real"
    assert Method(name="d", method="draft_model", options=prescribed).acceptance == "synthetic"
