"""axe-core finds nothing serious in any view, and everything can be reached by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from browser_pages import UNHURRIED, NewPage
from playwright.sync_api import Page, expect
from served_dashboard import SOURCES, ServedDashboard

VIEWS = ["/", "/scheduler/rl_agent", "/scheduler/greedy", "/history", "/experiments"]


def findings(page: Page) -> list[str]:
    """Everything axe-core finds, serious or not, as one line each."""
    # Evaluated by the debugger, not added as an element: the content security policy allows no script but our own.
    page.evaluate((SOURCES / "node_modules/axe-core/axe.min.js").read_text())
    result: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['impact']} {each['id']}: {node['html'][:160]}"
        for each in result["violations"]
        for node in each["nodes"][:3]
    ]


def settled(page: Page) -> None:
    """Wait until every panel has loaded and shows something; some need not have anything yet."""
    page.get_by_test_id("state-pill").wait_for()
    page.locator("h1").first.wait_for(state="attached")
    expect(page.get_by_text("waiting for the list of schedulers")).to_have_count(0)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.get_by_text("Loading …")).to_have_count(0)
    hurried = page.locator("".join(["section", *(f":not([data-testid={panel}])" for panel in sorted(UNHURRIED))]))
    expect(hurried.get_by_test_id("empty").filter(has_text="waiting for")).to_have_count(0)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("path", VIEWS)
def test_axe_finds_nothing_in_any_view(path: str, theme: str, new_page: NewPage, live_server: ServedDashboard) -> None:
    for phone in (False, True):
        size = (390, 844) if phone else (1440, 1000)
        page = new_page(*size, color_scheme=theme, has_touch=phone, is_mobile=phone)
        page.goto(live_server.address + path)
        settled(page)
        assert findings(page) == [], f"{path} at {size[0]} px in the {theme} theme"
        page.close()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_in_the_guided_run(theme: str, new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page(color_scheme=theme)
    page.goto(f"{live_server.address}/?pace=20")
    page.get_by_test_id("race-bar").first.wait_for()
    page.get_by_role("button", name="Show me").click()
    page.get_by_test_id("show-me").wait_for()
    assert findings(page) == []
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_test_id("show-me")).to_have_count(0)


@pytest.mark.parametrize("opener", ["Race settings", "Put your own task into the race", "Show the tour"])
def test_axe_finds_nothing_in_dialogs(opener: str, page: Page) -> None:
    page.get_by_role("button", name=opener).click()
    page.get_by_role("dialog").wait_for()
    page.wait_for_timeout(500)
    assert findings(page) == []


def test_axe_finds_nothing_in_the_inspector(page: Page) -> None:
    page.get_by_test_id("race-bar").first.click()
    page.get_by_test_id("inspector").wait_for()
    assert findings(page) == []


def test_every_control_is_reached_by_tab(page: Page) -> None:
    wanted: int = page.evaluate(
        """() => { let n = 0; for (const e of document.querySelectorAll(
             'a[href], button:not(:disabled), select, input:not(:disabled), [role=slider]')) {
             if (e.offsetParent === null || e.type === 'radio') continue; e.dataset.wanted = n++; } return n; }"""
    )
    assert wanted > 60
    page.get_by_role("button", name="Pause").press("Enter")
    expect(page.get_by_test_id("state-pill")).to_have_attribute("data-state", "paused")
    page.wait_for_timeout(2_500)
    reached = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(wanted * 3):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement?.dataset.wanted ?? null"))
    page.get_by_role("button", name="Resume").press("Enter")
    missing = page.evaluate(
        """reached => [...document.querySelectorAll('[data-wanted]')]
             .filter((e) => !reached.includes(e.dataset.wanted) && e.isConnected)
             .map((e) => e.getAttribute('aria-label') ?? e.textContent)""",
        [each for each in reached if each is not None],
    )
    assert missing == []


def test_the_inspector_opens_and_closes_by_keyboard_and_gives_focus_back(page: Page) -> None:
    bar = page.get_by_test_id("race-bar").first
    bar.focus()
    page.keyboard.press("Enter")
    page.get_by_test_id("inspector").wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(bar).to_be_focused()


def test_charts_have_words(new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page()
    page.goto(f"{live_server.address}/scheduler/rl_agent")
    expect(page.get_by_role("img", name="Utilization over the last minute; now CPU 0")).to_be_visible()
    expect(page.get_by_role("img", name="rl agent against")).to_be_visible()
