"""The API page at /docs: it opens without the rest of the world, and calls can be tried."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from browser_pages import Complaints, NewPage, free_port
from playwright.sync_api import Locator, Page, Route, expect
from playwright.sync_api import TimeoutError as PatienceOverError
from served_dashboard import ServedDashboard
from test_accessibility import findings

TOKEN = "a-token-for-tests-only"
RACERS = "greedy,oracle"
TRIES, PATIENCE_MS = 4, 5000

pytestmark = pytest.mark.usefixtures("complaints")


@pytest.fixture(scope="module")
def guarded(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """A service that wants a token."""
    folder = tmp_path_factory.mktemp("guarded")
    with ServedDashboard(folder, free_port(), "--schedulers", RACERS, API_TOKEN=TOKEN) as running:
        yield running


def opened(page: Page, service: ServedDashboard) -> list[str]:
    """Open it with nothing else in reach; gives what it asked of others."""
    elsewhere: list[str] = []

    def only_ours(route: Route) -> None:
        if route.request.url.startswith(service.address):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    page.route("**/*", only_ours)
    page.goto(f"{service.address}/docs")
    page.locator(".opblock").first.wait_for()
    return elsewhere


def call(page: Page, method: str, path: str) -> Locator:
    """The panel of one call, open."""
    panel = page.locator(f".opblock-{method}").filter(has=page.locator(f'[data-path="{path}"]'))
    panel.locator(".opblock-summary-control").click()
    return panel


def tried(panel: Locator) -> Locator:
    """Try the call; gives its answer."""
    execute = panel.get_by_role("button", name="Execute")
    for _ in range(TRIES):
        # While the page still reads the call's description it draws the panel anew, and forgets a click.
        panel.get_by_role("button", name="Try it out").click()
        with suppress(PatienceOverError):
            execute.wait_for(timeout=PATIENCE_MS)
            break
    execute.click()
    answer = panel.locator(".live-responses-table .response").first
    answer.wait_for()
    return answer


def test_it_shows_every_call_and_needs_nothing_from_elsewhere(new_page: NewPage, guarded: ServedDashboard) -> None:
    page = new_page()
    assert opened(page, guarded) == []
    document = guarded.get("/api/openapi.json")
    calls = sum(len(methods) for methods in document["paths"].values())
    expect(page.locator(".opblock")).to_have_count(calls)
    expect(page.get_by_role("heading", name=document["info"]["title"])).to_be_visible()


def test_a_call_can_be_tried(new_page: NewPage, guarded: ServedDashboard) -> None:
    page = new_page()
    opened(page, guarded)
    answer = tried(call(page, "get", "/api/health"))
    expect(answer.locator(".response-col_status")).to_contain_text("200")
    expect(answer).to_contain_text('"status": "ok"')


def test_a_call_that_changes_something_takes_the_token(
    new_page: NewPage, guarded: ServedDashboard, complaints: Complaints
) -> None:
    complaints.expect("401")
    page = new_page()
    opened(page, guarded)
    panel = call(page, "post", "/api/simulation/resume")
    expect(tried(panel).locator(".response-col_status")).to_contain_text("401")
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_label("auth-bearer-value").fill(TOKEN)
    page.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").first.click()
    panel.get_by_role("button", name="Execute").click()
    expect(panel.locator(".live-responses-table .response .response-col_status").first).to_contain_text("200")


def test_the_token_of_the_tab_is_used(new_page: NewPage, guarded: ServedDashboard) -> None:
    page = new_page()
    page.add_init_script(f"sessionStorage.setItem('hms.token', '{TOKEN}')")
    opened(page, guarded)
    answer = tried(call(page, "post", "/api/simulation/resume"))
    expect(answer.locator(".response-col_status")).to_contain_text("200")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_readable_in_both_themes_and_on_a_phone(
    theme: str, width: int, new_page: NewPage, guarded: ServedDashboard, artefacts: Path
) -> None:
    page = new_page(width, 900, color_scheme=theme)
    opened(page, guarded)
    tried(call(page, "get", "/api/health"))
    page.wait_for_timeout(500)
    page.screenshot(path=artefacts / f"api-{theme}-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("document.documentElement.classList.contains('dark-mode')")
    assert dark == (theme == "dark")
    # What axe calls moderate (order of headings, landmarks) is in Swagger UI's own elements.
    assert [each for each in findings(page) if each.startswith(("serious", "critical"))] == []


def test_the_theme_is_that_of_the_dashboard(new_page: NewPage, guarded: ServedDashboard) -> None:
    page = new_page(color_scheme="dark")
    page.add_init_script(f"sessionStorage.setItem('hms.token', '{TOKEN}')")
    opened(page, guarded)
    page.get_by_role("button", name="Light theme").click()
    page.get_by_role("link", name="Dashboard").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.get_by_role("link", name="API", exact=True).click()
    page.locator(".opblock").first.wait_for()
    expect(page.get_by_role("button", name="Dark theme")).to_be_visible()
