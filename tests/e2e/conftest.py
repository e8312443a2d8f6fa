"""A real browser against a real service."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_pages import SPEED, Complaints, NewPage, free_port
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright
from served_dashboard import ROOT, ServedDashboard, build_dashboard

PATIENCE_MS = 20_000


expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def built() -> None:
    """The dashboard is built."""
    build_dashboard()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium where there is one, otherwise the one Playwright brings.

    One for each file: Playwright runs an event loop in this thread, in which no other test could run its own.
    """
    with sync_playwright() as playwright:
        found = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def live_server(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """A service for the tests of one file; those that change its state put it back."""
    with ServedDashboard(tmp_path_factory.mktemp("serve"), free_port(), "--speed", SPEED) as running:
        yield running


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """What the browser complains about."""
    found = Complaints()
    yield found
    assert found.unexpected == []


@pytest.fixture
def new_page(browser: Browser, complaints: Complaints) -> Iterator[NewPage]:
    """Opens pages that report to `complaints`; without the tour unless asked for."""
    contexts = []

    def open_page(width: int = 1280, height: int = 1000, *, tour: bool = False, **options: Any) -> Page:
        context = browser.new_context(viewport=ViewportSize(width=width, height=height), **options)
        contexts.append(context)
        if not tour:
            context.add_init_script("localStorage.setItem('hms.tour.seen', 'true')")
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", complaints.hear)
        page.on("pageerror", lambda error: complaints.seen.append(f"exception: {error}"))
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: NewPage, live_server: ServedDashboard) -> Page:
    """The global view, with data in it."""
    page = new_page()
    page.goto(live_server.address)
    page.get_by_test_id("ledger-row").first.wait_for()
    return page


@pytest.fixture
def running(live_server: ServedDashboard) -> Iterator[ServedDashboard]:
    """The service, running again whatever a test did to it."""
    yield live_server
    live_server.post("/api/simulation/start")
    live_server.post("/api/simulation/resume")


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Where screenshots are kept."""
    folder = ROOT / "build" / "e2e"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
