"""What page tests share: the app as Streamlit runs it, against one database, with nothing cached from another test."""

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
TREND = "questions/trend.py"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages are not of `pipeline`, and what they ask is tested without them: a tracer would only double their time."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.untraced)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., AppTest]:
    """Return a function that opens a page of the app on a warehouse, by default the verdict's."""
    monkeypatch.setenv("SPECWATCH_HOME", str(tmp_path))
    for name in ("WAREHOUSE_URL_FILE", "WAREHOUSE_READER_URL", "WAREHOUSE_READER_URL_FILE"):
        monkeypatch.delenv(name, raising=False)
    st.cache_data.clear()

    def open_page(url: str | None, *, page: str | None = None, query: dict[str, str] | None = None) -> AppTest:
        if url is None:
            monkeypatch.delenv("WAREHOUSE_URL", raising=False)
        else:
            monkeypatch.setenv("WAREHOUSE_URL", url)
        test = AppTest.from_file(APP, default_timeout=60)
        for name, value in (query or {}).items():
            test.query_params[name] = value
        test.run()
        return test.switch_page(page).run() if page else test

    return open_page


def said(test: AppTest) -> str:
    """Return every text of the page, without Markdown's escapes."""
    parts = [
        element.value
        for kind in (test.title, test.subheader, test.markdown, test.caption, test.info, test.warning, test.error)
        for element in kind
    ]
    return "\n".join(map(str, parts)).replace("\\", "")
