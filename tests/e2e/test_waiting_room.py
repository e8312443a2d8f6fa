"""The waiting room, and what Ledger, Timeline and inspector say of tasks that waited, as a person sees them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_pages import Complaints, NewPage, free_port
from playwright.sync_api import Page, expect
from served_dashboard import ServedDashboard
from test_accessibility import findings


@pytest.fixture(scope="module")
def crowded(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """A race in which more tasks come than can be done; two of three schedulers let them wait."""
    options = ("--schedulers", "fcfs,mct,sjf", "--load", "1.4", "--speed", "4")
    with ServedDashboard(tmp_path_factory.mktemp("crowd"), free_port(), *options) as running:
        yield running


@pytest.fixture
def paused(crowded: ServedDashboard) -> Iterator[ServedDashboard]:
    """The same, halted, so that figures can be compared."""
    crowded.post("/api/simulation/pause")
    yield crowded
    crowded.post("/api/simulation/resume")


def opened(page: Page, server: ServedDashboard, path: str = "/") -> Page:
    page.goto(server.address + path)
    page.get_by_test_id("state-pill").wait_for()
    return page


def crowd(server: ServedDashboard, page: Page, at_least: int = 60) -> None:
    """Wait until so many tasks wait for sjf."""
    for _ in range(240):
        if server.get("/api/simulation/waiting", scheduler="sjf")["waiting"] >= at_least:
            return
        page.wait_for_timeout(500)
    raise AssertionError(f"fewer than {at_least} tasks wait")


def test_the_panel_shows_the_room_of_the_chosen_scheduler(new_page: NewPage, crowded: ServedDashboard) -> None:
    page = opened(new_page(), crowded)
    crowd(crowded, page)
    crowded.post("/api/simulation/pause")
    panel = page.get_by_test_id("panel-waiting")
    for scheduler in ("sjf", "fcfs"):
        panel.get_by_label("Whose waiting room").select_option(scheduler)
        room = crowded.get("/api/simulation/waiting", scheduler=scheduler)
        expect(panel.get_by_test_id("waiting-room")).to_have_attribute("data-waiting", str(room["waiting"]))
        rows = panel.get_by_test_id("waiting-task")
        expect(rows).to_have_count(len(room["tasks"]))
        for cell in ("waited", "overtaken"):
            shown = rows.locator(f"[data-cell={cell}]").evaluate_all(
                "cells => cells.map((e) => Number(e.dataset.value))"
            )
            assert shown == [task[cell] for task in room["tasks"]]
        assert (scheduler == "fcfs") == all(task["overtaken"] == 0 for task in room["tasks"])
        if room["waiting"] > len(room["tasks"]):
            more = room["waiting"] - len(room["tasks"])
            expect(panel.get_by_test_id("waiting-more")).to_have_text(f"and {more:,} more that came later")
    crowded.post("/api/simulation/resume")


def test_a_waiting_task_says_why_it_waits(new_page: NewPage, paused: ServedDashboard) -> None:
    page = opened(new_page(), paused)
    page.get_by_test_id("panel-waiting").get_by_label("Whose waiting room").select_option("sjf")
    row = page.get_by_test_id("waiting-task").first
    row.get_by_role("button").press("Enter")
    task = paused.get("/api/simulation/waiting", scheduler="sjf")["tasks"][0]
    shown = page.get_by_test_id("unfinished")
    expect(shown).to_contain_text(f"Why it waits: {task['reason']}")
    expect(shown).to_contain_text(f"{task['overtaken']:,} ×")
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_reads_well_in_both_themes_on_phone_and_desk(
    theme: str, width: int, new_page: NewPage, paused: ServedDashboard, artefacts: Path
) -> None:
    page = opened(new_page(width, 1000, color_scheme=theme), paused)
    panel = page.get_by_test_id("panel-waiting")
    panel.get_by_label("Whose waiting room").select_option("sjf")
    panel.get_by_test_id("waiting-task").first.wait_for()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    panel.scroll_into_view_if_needed()
    panel.screenshot(path=artefacts / f"waiting-{width}-{theme}.png")
    page.get_by_test_id("panel-ledger").screenshot(path=artefacts / f"waiting-ledger-{width}-{theme}.png")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_timeline_marks_who_was_started_out_of_order(
    theme: str, new_page: NewPage, paused: ServedDashboard, artefacts: Path
) -> None:
    page = opened(new_page(1440, 1000, color_scheme=theme), paused, "/scheduler/sjf")
    page.get_by_test_id("timeline-block").first.wait_for()
    expect(page.get_by_test_id("timeline-legend")).to_contain_text("was overtaken")
    panel = page.get_by_test_id("panel-timeline")
    panel.get_by_role("radio", name="100").check(force=True)
    results = {item["task_id"]: item["results"]["sjf"] for item in paused.history(100)}
    counts = page.get_by_test_id("timeline-block").evaluate_all("all => all.map((e) => Number(e.dataset.overtaken))")
    assert sorted(counts) == sorted(result["overtaken"] for result in results.values() for _ in result["parts"])
    assert any(counts)
    assert page.locator("[data-testid=timeline-block][data-overtook=true]").count() > 0
    assert findings(page) == []
    panel.screenshot(path=artefacts / f"waiting-timeline-{theme}.png")
    page.goto(f"{paused.address}/scheduler/mct")
    page.get_by_test_id("timeline-block").first.wait_for()
    expect(page.get_by_test_id("timeline-legend")).to_have_count(0)


def test_ledger_and_inspector_tell_the_decision_and_who_was_first(new_page: NewPage, paused: ServedDashboard) -> None:
    page = opened(new_page(), paused)
    ledger = page.get_by_test_id("panel-ledger")
    ledger.get_by_label("Only this scheduler").select_option("sjf")
    for _ in range(2):
        ledger.get_by_role("button", name="Overtaken").click()
    row = ledger.get_by_test_id("ledger-row").first
    result = paused.get(f"/api/tasks/{row.get_attribute('data-task')}")["results"]["sjf"]
    assert result["overtaken"] > 0
    for cell, key in (("decided", "decided_time"), ("overtaken", "overtaken")):
        assert float(row.locator(f"[data-cell={cell}]").get_attribute("data-value") or "nan") == result[key]
    row.get_by_role("button").click()
    facts = page.get_by_test_id("decision-facts")
    expect(facts).to_contain_text(f"Overtaken{result['overtaken']:,} ×")
    expect(facts).to_contain_text(f"Decided at{result['decided_time']:,.3f} s")
    assert findings(page) == []


def test_without_anybody_who_lets_tasks_wait_the_panel_says_so(
    new_page: NewPage, crowded: ServedDashboard, complaints: Complaints
) -> None:
    complaints.expect("404")  # it may just be asking for the room of one who has left
    page = opened(new_page(), crowded)
    crowded.change(schedulers=["mct"])
    expect(page.get_by_test_id("panel-waiting")).to_contain_text("No scheduler in the race lets tasks wait")
