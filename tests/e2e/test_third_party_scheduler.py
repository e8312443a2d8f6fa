"""A scheduler of another package races with its own colour; the front end knows nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from browser_pages import SPEED, NewPage, free_port
from playwright.sync_api import Page, expect
from served_dashboard import ROOT, ServedDashboard

EXAMPLE = ROOT / "examples" / "hms-shortest-queue"
NAME = "shortest_queue"
PIP_INSTALL = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def server(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """A service that finds the example package on its path; nothing else tells it about the scheduler."""
    packages, folder = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("serve")
    done = subprocess.run(
        [*PIP_INSTALL, "--no-deps", "--no-index", "--no-build-isolation", "--target", str(packages), str(EXAMPLE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    path = os.pathsep.join(filter(None, [str(packages), os.environ.get("PYTHONPATH")]))
    with ServedDashboard(folder, free_port(), "--speed", SPEED, PYTHONPATH=path) as running:
        yield running


@pytest.fixture
def colour(server: ServedDashboard) -> str:
    """The scheduler's colour as a browser writes it."""
    listed: list[dict[str, Any]] = server.get("/api/schedulers")
    (mine,) = (each for each in listed if each["name"] == NAME)
    assert mine["in_race"], f"{NAME} is installed but does not race"
    assert mine["colour"] not in {each["colour"] for each in listed if each is not mine}
    red, green, blue = (int(mine["colour"][at : at + 2], 16) for at in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


@pytest.fixture
def page(new_page: NewPage, server: ServedDashboard) -> Page:
    page = new_page()
    page.goto(server.address)
    return page


def test_it_races_with_its_colour(page: Page, colour: str) -> None:
    bar = page.locator(f"[data-testid=race-bar][data-scheduler={NAME}]")
    expect(bar).to_be_visible()
    assert colour in bar.inner_html()


def test_it_stands_in_the_ledger_with_its_colour(page: Page, colour: str) -> None:
    page.get_by_label("Only this scheduler").select_option(NAME)
    row = page.get_by_test_id("ledger-row").first
    expect(row).to_have_attribute("data-scheduler", NAME)
    expect(row).to_contain_text("shortest queue")
    assert colour in row.inner_html()


def test_it_has_a_view_of_its_own(new_page: NewPage, server: ServedDashboard) -> None:
    page = new_page()
    page.goto(f"{server.address}/scheduler/{NAME}")
    expect(page.get_by_role("heading", level=1, name="shortest queue")).to_be_visible()
    expect(page.get_by_test_id("panel-timeline").get_by_test_id("empty")).to_have_count(0)
