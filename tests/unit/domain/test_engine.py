"""How a matrix may name releases."""

import pytest

from pipeline.domain.engine import VersionKind, version_kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0.32.0", "release"),
        ("0.33.0rc1", "release"),
        ("latest", "latest"),
        ("last 5", "last"),
        ("last 99", "last"),
        (">=0.27,<0.33", "range"),
        ("==0.27.*", "range"),
        ("last 0", None),
        ("last five", None),
        ("newest", None),
        ("", None),
        ("0.32.0 --help", None),
    ],
)
def test_text_names_releases_or_nothing(text: str, kind: VersionKind | None) -> None:
    assert version_kind(text) == kind
