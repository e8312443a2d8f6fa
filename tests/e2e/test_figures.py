"""What the panels show is what the API says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from browser_pages import NewPage, eventually
from playwright.sync_api import Page, expect
from served_dashboard import ServedDashboard

WINDOW = 200
METRICS = {
    "Response": "response_time",
    "Execution": "actual_time",
    "Energy": "energy_consumption",
    "Cost": "execution_cost",
}
TRIES = 40


@pytest.fixture(scope="module")
def still(live_server: ServedDashboard) -> Iterator[ServedDashboard]:
    """The race, paused at a moment when every scheduler has finished the same tasks and all of them are stored."""
    for _ in range(TRIES):
        live_server.post("/api/simulation/pause")
        if eventually(lambda: _settled(live_server), 2):
            break
        live_server.post("/api/simulation/resume")
        time.sleep(0.5)
    else:
        pytest.fail(f"in {TRIES} pauses some task was always under way or not stored")
    yield live_server
    live_server.post("/api/simulation/resume")


def _settled(server: ServedDashboard) -> bool:
    status: dict[str, Any] = server.get("/api/status")
    done = {racer["tasks"] for racer in status["schedulers"]}
    stored = status["store"]["waiting_tasks"] == 0 and status["store"]["stored_tasks"] == status["tasks_processed"]
    return stored and done == {status["tasks_processed"]} and status["tasks_processed"] > WINDOW


@pytest.fixture
def paused_page(new_page: NewPage, still: ServedDashboard) -> Page:
    page = new_page(1920, 1080)
    page.goto(still.address)
    expect(page.get_by_test_id("state-pill")).to_have_attribute("data-state", "paused")
    page.get_by_test_id("ledger-row").first.wait_for()
    return page


def values(page: Page, selector: str, *keys: str) -> list[tuple[str, ...]]:
    """Attributes of all elements at once, so that no redraw comes between."""
    found: list[list[str]] = page.eval_on_selector_all(
        selector, "(elements, keys) => elements.map((e) => keys.map((k) => e.dataset[k]))", list(keys)
    )
    return [tuple(each) for each in found]


@pytest.mark.parametrize("metric", METRICS)
def test_race_shows_the_means_of_the_run(metric: str, paused_page: Page, still: ServedDashboard) -> None:
    status = still.get("/api/status")
    tasks = [item for item in still.history(status["tasks_processed"]) if item["run_id"] == status["run"]["id"]]
    assert len(tasks) == status["tasks_processed"]
    paused_page.get_by_role("radio", name=metric).check(force=True)
    shown = {name: float(value) for name, value in values(paused_page, "[data-testid=race-bar]", "scheduler", "value")}
    assert set(shown) == set(status["settings"]["schedulers"])
    for name, value in shown.items():
        results = [item["results"][name][METRICS[metric]] for item in tasks if not item["results"][name]["failed"]]
        assert value == pytest.approx(sum(results) / len(results), rel=1e-6), name


def test_ledger_shows_the_results(paused_page: Page, still: ServedDashboard) -> None:
    results = {
        (str(item["task_id"]), name): result
        for item in still.history(WINDOW)
        for name, result in item["results"].items()
    }
    rows: list[dict[str, Any]] = paused_page.eval_on_selector_all(
        "[data-testid=ledger-row]",
        """rows => rows.map((row) => ({task: row.dataset.task, scheduler: row.dataset.scheduler,
             cells: Object.fromEntries([...row.querySelectorAll('[data-cell]')]
               .map((cell) => [cell.dataset.cell, cell.dataset.value]))}))""",
    )
    assert len(rows) == 50
    fields = {
        "time": "actual_time",
        "wait": "wait_time",
        "response": "response_time",
        "energy": "energy_consumption",
        "cost": "execution_cost",
    }
    for row in rows:
        expected = results[row["task"], row["scheduler"]]
        assert {key: float(row["cells"][key]) for key in fields} == {k: expected[f] for k, f in fields.items()}


def test_scoreboard_counts_wins_on_the_same_tasks(paused_page: Page, still: ServedDashboard) -> None:
    items = still.history(WINDOW)
    cells = values(paused_page, "[data-testid=score-cell]", "row", "column", "wins", "total", "value")
    names = still.get("/api/status")["settings"]["schedulers"]
    assert len(cells) == len(names) * (len(names) - 1)
    for row, column, wins, total, share in cells:
        pairs = [(i["results"][row], i["results"][column]) for i in items if {row, column} <= i["results"].keys()]
        won = sum(_time(a) < _time(b) for a, b in pairs)
        assert (int(wins), int(total)) == (won, len(pairs)), (row, column)
        assert float(share) == pytest.approx(won / len(pairs))


def _time(result: dict[str, Any]) -> float:
    return float("inf") if result["failed"] else float(result["response_time"])


@pytest.mark.parametrize("scheduler", ["rl_agent", "greedy", "oracle"])
def test_split_shows_busy_seconds_by_device(scheduler: str, new_page: NewPage, still: ServedDashboard) -> None:
    page = new_page()
    page.goto(f"{still.address}/scheduler/{scheduler}")
    page.get_by_test_id("split-gpu-share").wait_for()
    busy: dict[str, float] = {}
    fractions = []
    for item in still.history(WINDOW):
        result = item["results"][scheduler]
        fractions.append(result["gpu_fraction"])
        for part in result["parts"]:
            busy[part["device"]] = busy.get(part["device"], 0.0) + part["end"] - part["start"]
    total = sum(busy.values())
    shown = {device: float(value) for device, value in values(page, "[data-testid=split-device]", "device", "value")}
    assert shown == pytest.approx({device: seconds / total for device, seconds in busy.items()})
    gpu = sum(seconds for device, seconds in busy.items() if device.startswith("gpu"))
    assert float(page.get_by_test_id("split-gpu-share").get_attribute("data-value") or "nan") == pytest.approx(
        gpu / total
    )
    mean = float(page.get_by_test_id("split-mean-fraction").get_attribute("data-value") or "nan")
    assert mean == pytest.approx(sum(fractions) / len(fractions))


def _figure(page: Page, name: str) -> float:
    return float(page.get_by_test_id(name).get_attribute("data-value") or "nan")


def test_the_inspector_shows_what_every_device_would_have_cost(paused_page: Page, still: ServedDashboard) -> None:
    row = paused_page.get_by_test_id("ledger-row").first
    number, scheduler = row.get_attribute("data-task"), row.get_attribute("data-scheduler")
    row.get_by_role("button", name=f"Inspect task {number}").click()
    inspector = paused_page.get_by_test_id("inspector")
    inspector.wait_for()
    detail = still.get(f"/api/tasks/{number}")
    report = next(each for each in detail["decisions"] if each["scheduler_name"] == scheduler)
    expect(inspector.get_by_test_id("decision")).to_have_attribute("data-scheduler", scheduler or "")
    expect(inspector).to_contain_text(report["reason"])
    shown = values(paused_page, "[data-testid=considered]", "device", "chosen")
    assert shown == [(each["device"], str(each["chosen"]).lower()) for each in report["considered"]]
