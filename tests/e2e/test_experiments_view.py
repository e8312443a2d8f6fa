"""An experiment is started, followed, cancelled and read in the Experiments view."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from browser_pages import Complaints, NewPage
from playwright.sync_api import Locator, Page, expect
from served_dashboard import ServedDashboard

EXPERIMENT_MS = 180_000
"""Two small seeds with plots and report, on a busy machine."""


@pytest.fixture
def page(new_page: NewPage, running: ServedDashboard) -> Page:
    """The Experiments view; the race is still, so that the experiment has the machine."""
    running.post("/api/simulation/pause")
    page = new_page()
    page.goto(f"{running.address}/experiments")
    return page


def start(page: Page, *, seeds: str, tasks: str) -> Locator:
    """Start `mixed`; the newest of the experiments started here."""
    page.get_by_role("combobox", name="Experiment").select_option("mixed")
    page.get_by_label("Seeds").fill(seeds)
    page.get_by_label("Tasks per seed").fill(tasks)
    page.get_by_role("form", name="Start an experiment").get_by_role("button").click()
    job = page.get_by_test_id("experiment-job").first
    expect(job).to_have_attribute("data-state", "running")
    return job


def test_an_experiment_is_started_followed_and_read(page: Page, running: ServedDashboard, tmp_path: Path) -> None:
    job = start(page, seeds="2", tasks="50")
    expect(job.get_by_role("progressbar")).to_be_visible()
    expect(job.get_by_test_id("experiment-progress")).to_contain_text("of", timeout=EXPERIMENT_MS)
    expect(job).to_have_attribute("data-state", "finished", timeout=EXPERIMENT_MS)

    (told, *_) = running.get("/api/experiments")["jobs"]
    names = [each["name"] for each in running.get(f"/api/runs/{told['run_id']}/files")]
    offered = job.get_by_test_id("run-file").locator("span").all_inner_texts()
    assert sorted(offered) == sorted(name for name in told["files"] if not name.endswith(".png"))
    assert {"result.csv", "summary.csv"} <= set(names)

    with page.expect_download() as download:
        job.get_by_role("link", name="result.csv").click()
    download.value.save_as(tmp_path / "result.csv")
    rows = list(csv.DictReader((tmp_path / "result.csv").read_text(encoding="utf-8").splitlines()))
    assert len({row["seed"] for row in rows}) == 2

    job.get_by_role("button", name="Figures and plots of run").click()
    run = page.locator(f"[data-testid=run][data-run='{told['run_id']}']")
    expect(run.get_by_role("table")).to_contain_text("rl agent")
    expect(run.get_by_test_id("run-file")).to_have_count(len(names))


def test_an_experiment_is_cancelled_and_another_can_start(page: Page) -> None:
    job = start(page, seeds="5", tasks="5000")
    job.get_by_role("button", name="Cancel").click()
    expect(job).to_have_attribute("data-state", "cancelled", timeout=60_000)
    expect(page.get_by_role("form", name="Start an experiment").get_by_role("button")).to_be_enabled()


def test_the_service_says_what_is_wrong_with_a_number(page: Page, complaints: Complaints) -> None:
    complaints.expect("422")
    page.get_by_label("Seeds").fill("-3")
    page.get_by_role("form", name="Start an experiment").get_by_role("button").click()
    expect(page.get_by_test_id("experiment-error")).to_contain_text("seeds")
    expect(page.get_by_test_id("experiment-job").filter(has_text="running")).to_have_count(0)
