"""Every control does what it says, and the service agrees."""

from __future__ import annotations

from typing import Any

from browser_pages import Complaints, eventually
from playwright.sync_api import Locator, Page, expect
from served_dashboard import ServedDashboard


def settings(server: ServedDashboard) -> dict[str, Any]:
    found: dict[str, Any] = server.get("/api/status")["settings"]
    return found


def open_settings(page: Page) -> Locator:
    page.get_by_role("button", name="Race settings").click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    return dialog


def test_pause_stops_the_stream_within_a_second_and_panels_stay(page: Page, running: ServedDashboard) -> None:
    page.get_by_role("button", name="Pause").click()
    pill = page.get_by_test_id("state-pill")
    expect(pill).to_have_attribute("data-state", "paused", timeout=10_000)
    page.wait_for_timeout(1_000)
    progress = page.get_by_test_id("progress")
    before = progress.get_attribute("data-value")
    page.wait_for_timeout(2_000)
    assert progress.get_attribute("data-value") == before
    page.get_by_test_id("ledger-row").first.click()
    expect(page.get_by_test_id("inspector")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Resume").click()
    expect(pill).to_have_attribute("data-state", "running")
    expect(progress).not_to_have_attribute("data-value", before or "")


def test_stop_and_start_work_repeatedly(page: Page, running: ServedDashboard) -> None:
    pill = page.get_by_test_id("state-pill")
    for _ in range(3):
        page.get_by_role("button", name="Stop").click()
        expect(pill).to_have_attribute("data-state", "stopped")
        assert running.get("/api/status")["state"] == "stopped"
        page.get_by_role("button", name="Start", exact=True).click()
        expect(pill).to_have_attribute("data-state", "running")


def test_settings_reach_the_service_and_come_back(page: Page, running: ServedDashboard) -> None:
    before = settings(running)
    dialog = open_settings(page)
    dialog.get_by_label("Workload preset").select_option("uniform")
    assert eventually(lambda: settings(running)["preset"] == "uniform")
    rate = dialog.locator("input[name=arrival_rate]")
    rate.fill("3.5")
    rate.press("Enter")
    assert eventually(lambda: settings(running)["arrival_rate"] == 3.5)
    speed = dialog.locator("input[name=speed]")
    speed.fill("15")
    speed.press("Tab")
    assert eventually(lambda: settings(running)["speed"] == 15)
    dialog.get_by_label("As fast as the machine can").check()
    assert eventually(lambda: bool(settings(running)["flat_out"]))
    dialog.get_by_label("As fast as the machine can").uncheck()
    assert eventually(lambda: not settings(running)["flat_out"])
    money = dialog.locator("input[name=weight_money]")
    money.focus()
    money.press("End")
    assert eventually(lambda: settings(running)["weights"] == {"time": 0, "energy": 0, "money": 1})
    expect(money).to_have_attribute("aria-valuetext", "money counts 100 %")
    money.press("Home")
    assert eventually(lambda: settings(running)["weights"] == {"time": 0.5, "energy": 0.5, "money": 0})
    running.change(preset=before["preset"], speed=before["speed"], weights=before["weights"])
    running.change(load=before["load"])


def test_a_setting_the_service_refuses_is_said_in_its_words(
    page: Page, running: ServedDashboard, complaints: Complaints
) -> None:
    complaints.expect("422")
    before = settings(running)
    dialog = open_settings(page)
    speed = dialog.locator("input[name=speed]")
    speed.fill("-4")
    speed.press("Enter")
    expect(page.get_by_test_id("notice").filter(has_text="speed")).to_have_attribute("data-level", "error")
    assert settings(running) == before


def test_another_line_up_begins_a_new_run_and_shows(page: Page, running: ServedDashboard) -> None:
    run = running.get("/api/status")["run"]["id"]
    before = settings(running)["schedulers"]
    dialog = open_settings(page)
    dialog.get_by_role("checkbox", name="cpu only").check()
    dialog.get_by_role("checkbox", name="random").uncheck()
    dialog.get_by_role("button", name="Apply line-up").click()
    expect(page.locator("[data-testid=race-bar][data-scheduler=cpu_only]")).to_have_count(1)
    expect(page.locator("[data-testid=race-bar][data-scheduler=random]")).to_have_count(0)
    assert running.get("/api/status")["run"]["id"] != run
    running.change(schedulers=before)


def test_the_load_dial_is_turned_by_keyboard(page: Page, running: ServedDashboard) -> None:
    before = settings(running)["load"]
    dial = page.get_by_role("slider", name="Load")
    dial.focus()
    for _ in range(6):
        dial.press("ArrowUp")
    wanted = float(dial.get_attribute("data-value") or 0)
    assert wanted > before
    assert eventually(lambda: abs(settings(running)["load"] - wanted) < 1e-9)
    running.change(load=before)


def test_the_load_dial_shows_who_breaks_first(page: Page, running: ServedDashboard) -> None:
    before = settings(running)
    running.change(load=1.2)
    broken = page.get_by_role("list", name="Broke first").get_by_role("listitem")
    expect(broken.first).to_be_visible(timeout=60_000)
    expect(page.get_by_test_id("race-bar").filter(has_text="overloaded").first).to_be_visible()
    running.change(load=before["load"])
    running.post("/api/simulation/stop")
    running.post("/api/simulation/start")


def test_clearing_history_asks_first_and_then_panels_say_so(page: Page, running: ServedDashboard) -> None:
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_test_id("state-pill")).to_have_attribute("data-state", "paused")
    open_settings(page).get_by_role("button", name="Clear history").click()
    page.get_by_role("button", name="Keep it").click()
    assert running.get("/api/history/comparative", limit=1)["items"]
    open_settings(page).get_by_role("button", name="Clear history").click()
    page.get_by_role("dialog").get_by_role("button", name="Clear history").click()
    expect(page.get_by_test_id("notice").filter(has_text="History cleared")).to_be_visible()
    for panel in ("ledger", "scoreboard", "heatmap", "workload"):
        empty = page.get_by_test_id(f"panel-{panel}").get_by_test_id("empty")
        expect(empty).to_contain_text("No data yet: waiting for the first task that every scheduler has finished")
        expect(empty).to_contain_text("The race is paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_test_id("ledger-row").first).to_be_visible()


def test_an_own_task_is_checked_by_the_service_and_decided_by_everybody(
    page: Page, running: ServedDashboard, complaints: Complaints
) -> None:
    complaints.expect("422")
    page.get_by_role("button", name="Put your own task into the race").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("input[name=size]").fill("-1")
    dialog.locator("input[name=compute_intensity]").fill("lots")
    dialog.get_by_role("button", name="Send task").click()
    expect(dialog.get_by_test_id("task-error")).to_contain_text("size")
    expect(dialog.locator("input[name=size]")).to_have_attribute("aria-invalid", "true")
    expect(dialog.locator("input[name=compute_intensity]")).to_have_attribute("aria-invalid", "true")
    dialog.locator("input[name=size]").fill("1234")
    dialog.locator("input[name=compute_intensity]").fill("0.8")
    dialog.get_by_role("button", name="Send task").click()
    expect(dialog.get_by_role("heading", name="is in the race")).to_be_visible()
    for name in settings(running)["schedulers"]:
        dialog.get_by_role("radio", name=name.replace("_", " ")).check(force=True)
        expect(dialog.get_by_test_id("decision")).to_have_attribute("data-scheduler", name)
        expect(dialog.locator("[data-testid=considered][data-chosen=true]").first).to_be_visible()
    number = int("".join(filter(str.isdigit, dialog.get_by_role("heading").inner_text())))
    dialog.get_by_role("button", name="Done").click()
    assert eventually(lambda: any(item["task_id"] == number for item in running.history(1000)), 30)
