"""Tasks that depend on each other, drawn as a graph with its critical path, as a person sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_pages import NewPage, eventually, free_port
from playwright.sync_api import expect
from served_dashboard import ServedDashboard
from test_accessibility import findings

HUGE = {"size": 5000.0, "compute_intensity": 0.8, "memory_required": 100.0}


@pytest.fixture(scope="module")
def server(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """A quick race of two schedulers."""
    options = ("--schedulers", "mct,sjf", "--load", "0.1", "--speed", "20")
    with ServedDashboard(tmp_path_factory.mktemp("graph"), free_port(), *options) as running:
        yield running


def test_tasks_that_depend_on_each_other_are_drawn(server: ServedDashboard, new_page: NewPage, artefacts: Path) -> None:
    page = new_page(1280, 1000)
    page.goto(f"{server.address}/scheduler/mct")
    panel = page.get_by_test_id("panel-graph")
    expect(panel).to_contain_text("These tasks do not depend on each other")
    server.post("/api/simulation/pause")
    ids: list[int] = []
    for parents in ([], [0], [0], [1, 2]):
        asked = {**HUGE, "dependencies": [ids[each] for each in parents]}
        ids.append(server.post("/api/tasks", **asked)["task"]["task_id"])
    server.post("/api/simulation/resume")
    assert eventually(lambda: len(server.get("/api/graph", scheduler="mct")["tasks"]) == len(ids))
    server.post("/api/simulation/pause")
    boxes = panel.get_by_test_id("graph-task")
    expect(boxes).to_have_count(4)
    graph = server.get("/api/graph", scheduler="mct")
    shown = boxes.evaluate_all("all => all.map((e) => [Number(e.dataset.task), e.dataset.critical === 'true'])")
    path = {step["task_id"] for step in graph["critical_path"]}
    assert shown == [[each, each in path] for each in ids]
    assert {ids[0], ids[3]} <= path
    lines = panel.locator("[data-testid=graph-edge][data-critical=parent]")
    expect(lines).to_have_count(2)
    boxes.last.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(boxes.first).to_be_focused()
    expect(panel.get_by_test_id("graph-words")).to_contain_text(f"Task {ids[0]}, synthetic, size 5,000, on GPU")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("inspector")).to_contain_text("Size5,000")
    page.keyboard.press("Escape")
    for width, theme in ((1280, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        expect(boxes).to_have_count(4)
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        panel.screenshot(path=artefacts / f"graph-{width}-{theme}.png")
