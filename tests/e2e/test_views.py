"""Every view, at every width."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser_pages import UNHURRIED, NewPage
from playwright.sync_api import Page, expect
from served_dashboard import SOURCES, ServedDashboard

VIEWS = {"global": "/", "scheduler": "/scheduler/rl_agent", "history": "/history", "experiments": "/experiments"}


def panels(page: Page) -> set[str]:
    return set(page.locator("section[data-testid^=panel-]").evaluate_all("found => found.map((e) => e.dataset.testid)"))


def test_every_panel_has_its_place_in_a_view(new_page: NewPage, live_server: ServedDashboard) -> None:
    listed = (SOURCES / "src/widgets/index.ts").read_text(encoding="utf-8")
    missing = {f"panel-{name}" for name in re.findall(r"^  (\w+): \(\) => import", listed, re.MULTILINE)}
    assert len(missing) > 10
    page = new_page()
    for path in VIEWS.values():
        page.goto(live_server.address + path)
        page.get_by_test_id("state-pill").wait_for()
        if path != "/experiments":
            page.locator("section[data-testid^=panel-]").first.wait_for()
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
        missing -= panels(page)
    assert missing == set()


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_its_panels_at_every_width(
    view: str, width: int, new_page: NewPage, live_server: ServedDashboard, artefacts: Path
) -> None:
    page = new_page(width, 1080, color_scheme="dark")
    page.goto(live_server.address + VIEWS[view])
    if view == "experiments":
        expect(page.get_by_test_id("run").first).to_contain_text("live")
    else:
        page.locator("section[data-testid^=panel-]").first.wait_for()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
    for panel in panels(page) - UNHURRIED:
        expect(page.get_by_test_id(panel).get_by_test_id("empty")).to_have_count(0, timeout=20_000)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0, "the page scrolls sideways"
    page.screenshot(path=artefacts / f"{view}-{width}.png", full_page=True)


def test_the_race_moves_within_ten_seconds(new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page()
    page.goto(live_server.address)
    bars = page.get_by_test_id("race-bar")
    bars.first.wait_for(timeout=10_000)
    first = int(page.get_by_test_id("progress").get_attribute("data-value") or 0)
    page.wait_for_function(
        "first => Number(document.querySelector('[data-testid=progress]').dataset.value) > first",
        arg=first,
        timeout=10_000,
    )
    names = {bar.get_attribute("data-scheduler") for bar in bars.all()}
    assert names == set(live_server.get("/api/status")["settings"]["schedulers"])


def test_names_and_colours_come_from_the_service(page: Page, live_server: ServedDashboard) -> None:
    for scheduler in live_server.get("/api/schedulers"):
        bar = page.locator(f"[data-testid=race-bar][data-scheduler={scheduler['name']}]")
        assert bar.count() == int(scheduler["in_race"])
        if scheduler["in_race"]:
            red, green, blue = (int(scheduler["colour"][at : at + 2], 16) for at in (1, 3, 5))
            assert f"rgb({red}, {green}, {blue})" in bar.inner_html()


def test_links_lead_to_every_view_and_back(page: Page, live_server: ServedDashboard) -> None:
    page.get_by_role("link", name="Historical analysis").click()
    expect(page).to_have_url(f"{live_server.address}/history")
    expect(page.get_by_test_id("panel-trends")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("panel-race")).to_be_visible()
    page.get_by_test_id("summary-row").filter(has_text="oracle").get_by_role("link").click()
    expect(page).to_have_url(f"{live_server.address}/scheduler/oracle")
    expect(page.get_by_role("heading", level=1, name="oracle")).to_be_visible()
    expect(page).to_have_title("oracle · Hybrid ML Scheduler")
    expect(page.get_by_test_id("panel-learning")).to_have_count(0)


@pytest.mark.parametrize(
    ("path", "says"), [("/nowhere", "nothing at /nowhere"), ("/scheduler/nobody", "called nobody")]
)
def test_an_address_that_leads_nowhere_says_so(
    path: str, says: str, new_page: NewPage, live_server: ServedDashboard
) -> None:
    page = new_page()
    page.goto(live_server.address + path)
    expect(page.get_by_text(says)).to_be_visible()


def test_the_system_chooses_the_theme_until_the_person_does(new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page(color_scheme="light")
    page.goto(live_server.address)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Use the dark theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")


def test_nothing_moves_when_the_person_wants_it_still(new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page(reduced_motion="reduce")
    page.goto(live_server.address)
    page.get_by_test_id("race-bar").first.wait_for()
    moving = "document.getAnimations().length"
    page.wait_for_timeout(1500)
    assert page.evaluate(moving) == 0


def test_the_tour_has_three_steps_and_comes_once(new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page(tour=True)
    page.goto(live_server.address)
    tour = page.get_by_role("dialog")
    expect(tour).to_contain_text("prep cook")
    tour.get_by_role("button", name="Next").click()
    expect(tour).to_contain_text("Step 2 of 3")
    tour.get_by_role("button", name="Next").click()
    tour.get_by_role("button", name="Start").click()
    expect(tour).to_have_count(0)
    page.reload()
    page.get_by_test_id("race-bar").first.wait_for()
    expect(tour).to_have_count(0)


def test_the_tour_can_be_skipped(new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page(tour=True)
    page.goto(live_server.address)
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
