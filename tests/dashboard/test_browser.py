"""The pages in a real browser: drawn, quiet, narrow enough, and asking nobody but this machine."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.dashboard.sweeps import FAILED, put_sweep

pytestmark = pytest.mark.browser
REPOSITORY = Path(__file__).parents[2]
QUIET = (
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
START_TIMEOUT_S = 60.0
TIMEOUT_MS = 60_000


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium. Without one CI fails, and anyone else reads in pytest's summary what was not tested."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = "no Chromium on this machine: the pages were NOT tested in a browser (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture(scope="module")
def dashboard(chromium: str, warehouse_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, run as a person runs it, on two versions of which one lost a cell."""
    put_sweep(warehouse_url, sweep_id="s1", day=1, version="0.31.0")
    put_sweep(warehouse_url, sweep_id="s2", day=2, version="0.32.0", failed=[FAILED])
    port = free_port()
    log = tmp_path_factory.mktemp("dashboard") / "streamlit.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "streamlit", "run", str(REPOSITORY / "dashboard" / "app.py")),
                *("--server.address=127.0.0.1", f"--server.port={port}", "--server.headless=true"),
            ],
            env=os.environ | {"WAREHOUSE_URL": warehouse_url},
            cwd=log.parent,  # not the repository: the app finds itself
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", server=server, log=log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(timeout=10)


def free_port() -> int:
    """Return a free port below the ephemeral range, which other tests' connections use."""
    for port in range(28520, 28620):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    pytest.fail("no free port from 28520 to 28619")


def wait_until_healthy(address: str, *, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):  # noqa: S310 - our own http address
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the dashboard was not healthy in {START_TIMEOUT_S:.0f} s: {log.read_text()}")


@pytest.fixture
def page(chromium: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(TIMEOUT_MS)
        expect.set_options(timeout=TIMEOUT_MS)
        yield page
        browser.close()


def drawn_charts(page: Page, *, at_least: int) -> None:
    """Wait until that many charts have a picture with an area."""
    charts = page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg.marks")
    expect(charts.nth(at_least - 1)).to_be_visible(timeout=TIMEOUT_MS)
    box = charts.first.bounding_box()
    assert box is not None
    assert box["width"] > 200
    assert box["height"] > 50


def test_both_pages_are_drawn_without_an_error_or_an_outside_request(dashboard: str, page: Page) -> None:
    errors: list[str] = []
    hosts: set[str | None] = set()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    page.on("websocket", lambda websocket: hosts.add(urlsplit(websocket.url).hostname))

    page.goto(dashboard)
    expect(page.get_by_role("heading", name="Is it worth it?")).to_be_visible()
    expect(page.get_by_text("vLLM 0.32.0: worth it in 2 of 8 cells, not in 3 (3 harmful)")).to_be_visible()
    expect(page.get_by_text("CPU measurement: says nothing about a GPU.")).to_be_visible()
    expect(page.get_by_text("out_of_memory: the server ran out of *memory* [rank0]")).to_be_visible()
    drawn_charts(page, at_least=2)

    page.get_by_role("link", name="How does it change across vLLM versions?").click()
    expect(page.get_by_text("from vLLM 0.31.0 to 0.32.0 the speedup is clearly up in 0 of 7 cells")).to_be_visible()
    drawn_charts(page, at_least=12)

    assert errors == []
    assert hosts - {None} == {"127.0.0.1"}  # None: data: and blob: addresses


def test_a_deep_link_opens_the_trend_first(dashboard: str, page: Page) -> None:
    page.goto(f"{dashboard}/trend?workload=creative")
    expect(page.get_by_text("Filters: workload creative.")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1920])
def test_no_window_width_needs_sideways_scrolling(dashboard: str, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(dashboard)
    drawn_charts(page, at_least=2)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    frames = page.locator("[data-testid=stVegaLiteChart]").all()
    assert all((box := frame.bounding_box()) and box["x"] + box["width"] <= width for frame in frames)
