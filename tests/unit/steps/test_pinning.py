"""Which releases the matrices pin."""

from pathlib import Path

from pipeline.steps.pinning import pinned_versions
from tests.unit.matrix.test_load import GOOD


def test_releases_named_by_number_are_pinned_and_a_broken_matrix_pins_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD.replace('"0.32.0"', "latest"))
    (tmp_path / "c.yaml").write_text("version: 1")
    said: list[str] = []
    assert pinned_versions(report=said.append, folder=tmp_path) == {"0.32.0"}
    assert [text.split(" pins ")[0] for text in said] == ["c.yaml"]


def test_the_repositorys_own_matrices_pin_something() -> None:
    assert pinned_versions(report=lambda text: None)
