"""Show me: five moments, told from what happens, and everything is put back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser_pages import Complaints, NewPage, eventually, free_port
from playwright.sync_api import Page, expect
from served_dashboard import ServedDashboard

PACE = 5
MOMENT_MS = 40_000


@pytest.fixture(scope="module")
def server(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """With the default settings, and as many updates in a fifth of the time."""
    with ServedDashboard(tmp_path_factory.mktemp("serve"), free_port(), UPDATE_HZ="10") as running:
        yield running


def settings(server: ServedDashboard) -> dict[str, Any]:
    found: dict[str, Any] = server.get("/api/status")["settings"]
    return found


@pytest.fixture
def page(new_page: NewPage, server: ServedDashboard) -> Page:
    page = new_page()
    page.goto(f"{server.address}/?pace={PACE}")
    page.get_by_test_id("race-bar").first.wait_for()
    return page


def begin(page: Page) -> None:
    page.get_by_role("button", name="Show me").click()
    page.get_by_test_id("show-me").wait_for()


def test_five_moments_are_told_and_the_settings_are_put_back(page: Page, server: ServedDashboard) -> None:
    before = settings(server)
    begin(page)
    strip = page.get_by_test_id("show-me")
    for moment in "12345":
        expect(strip).to_have_attribute("data-moment", moment, timeout=MOMENT_MS)
    expect(strip).to_have_attribute("data-ending", "done", timeout=MOMENT_MS)
    expect(strip).to_have_attribute("data-restored", "true")
    assert settings(server) == before
    told = [each.inner_text() for each in strip.get_by_test_id("show-me-said").all()]
    assert len(told) == 5
    assert re.search(r"At 5 % load .*: .*\d", told[0])
    broken = (strip.get_attribute("data-broken") or "").split()
    for name in broken:  # whoever broke is named, and nobody else is said to have
        assert name.replace("_", " ") in " ".join(told[1:3])
    assert ("nobody" in told[1]) == (not broken) or "broke at" in told[1]
    assert "cpu favourable" in told[3]
    strip.get_by_role("button", name="Close the guided run").click()
    expect(strip).to_have_count(0)


def test_it_can_be_skipped_at_any_moment(page: Page, server: ServedDashboard) -> None:
    server.change(load=0.07, preset="uniform")
    before = settings(server)
    expect(page.get_by_test_id("load-dial")).to_have_attribute("aria-valuenow", "7")
    begin(page)
    expect(page.get_by_test_id("load-dial")).not_to_have_attribute("aria-valuenow", "7")
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_test_id("show-me")).to_have_count(0)
    expect(page.get_by_test_id("notice").filter(has_text="as it did before")).to_be_visible()
    assert settings(server) == before


def test_leaving_the_page_puts_the_settings_back_too(page: Page, server: ServedDashboard) -> None:
    before = settings(server)
    begin(page)
    expect(page.get_by_test_id("show-me")).to_have_attribute("data-moment", "1", timeout=MOMENT_MS)
    page.reload()
    page.get_by_test_id("race-bar").first.wait_for()
    expect(page.get_by_test_id("show-me")).to_have_count(0)
    # The page that is left sends them and is gone before they are answered.
    assert eventually(lambda: settings(server) == before), settings(server)


def test_the_tour_offers_it(new_page: NewPage, server: ServedDashboard) -> None:
    page = new_page(tour=True)
    page.goto(server.address)
    tour = page.get_by_role("dialog")
    for _ in range(2):
        tour.get_by_role("button", name="Next").click()
    tour.get_by_role("button", name="Show me").click()
    expect(tour).to_have_count(0)
    expect(page.get_by_test_id("show-me")).to_contain_text("quiet")
    page.get_by_role("button", name="Skip").click()


def test_who_may_not_change_the_race_is_told_so(page: Page, server: ServedDashboard, complaints: Complaints) -> None:
    complaints.expect("403")
    refusal = '{"error": {"code": "forbidden", "message": "only the owner may change the race", "details": []}}'
    page.route("**/api/simulation/settings", lambda route: route.fulfill(status=403, body=refusal))
    page.get_by_role("button", name="Show me").click()
    expect(page.get_by_test_id("notice").filter(has_text="only the owner may change the race")).to_be_visible()
    expect(page.get_by_test_id("show-me")).to_have_count(0)
