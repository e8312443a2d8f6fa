"""Panels can be moved, resized, hidden, put back, explained and exported; the place is kept."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect


def box(locator: Locator) -> FloatRect:
    found = locator.bounding_box()
    assert found is not None
    return found


def test_a_dragged_panel_keeps_its_place_over_a_reload(page: Page) -> None:
    panel = page.get_by_test_id("panel-race")
    before = box(panel)
    handle = box(panel.get_by_role("heading"))
    page.mouse.move(handle["x"] + 20, handle["y"] + 8)
    page.mouse.down()
    page.mouse.move(handle["x"] + 400, handle["y"] + 40, steps=8)
    page.mouse.move(handle["x"] + 620, handle["y"] + 60, steps=8)
    page.mouse.up()
    page.wait_for_timeout(500)
    moved = box(panel)
    assert moved["x"] > before["x"] + 300
    page.reload()
    panel.wait_for()
    page.wait_for_timeout(500)
    assert box(panel)["x"] == pytest.approx(moved["x"], abs=2)


def test_a_resized_panel_keeps_its_size_and_reset_puts_it_back(page: Page) -> None:
    panel = page.get_by_test_id("panel-race")
    before = box(panel)
    corner = box(page.locator(".react-grid-item", has=panel).locator(".react-resizable-handle"))
    page.mouse.move(corner["x"] + 8, corner["y"] + 8)
    page.mouse.down()
    page.mouse.move(corner["x"] + 240, corner["y"] + 130, steps=10)
    page.mouse.up()
    page.wait_for_timeout(500)
    assert box(panel)["width"] > before["width"] + 100
    assert box(panel)["height"] > before["height"] + 50
    page.get_by_role("button", name="Panels").click()
    page.get_by_role("button", name="Reset layout").click()
    page.wait_for_timeout(500)
    assert box(panel)["width"] == pytest.approx(before["width"], abs=2)


def test_panels_move_and_grow_by_keyboard(page: Page) -> None:
    panel = page.get_by_test_id("panel-workload")
    before = box(panel)
    handle = panel.get_by_role("button", name="Move Workload")
    handle.focus()
    handle.press("Shift+ArrowDown")
    page.wait_for_timeout(400)
    assert box(panel)["height"] > before["height"]
    handle.press("ArrowUp")
    page.wait_for_timeout(400)
    assert box(panel)["y"] < before["y"]


def test_a_hidden_panel_stays_hidden_and_can_be_shown(page: Page) -> None:
    page.get_by_role("button", name="Where GPUs win: more").click()
    page.get_by_role("button", name="Hide panel").click()
    panel = page.get_by_test_id("panel-heatmap")
    expect(panel).to_have_count(0)
    page.reload()
    page.get_by_test_id("panel-race").wait_for()
    expect(panel).to_have_count(0)
    page.get_by_role("button", name="Panels").click()
    page.get_by_role("button", name="Show Where GPUs win").click()
    expect(panel).to_be_visible()


def test_every_panel_explains_itself(page: Page) -> None:
    for button in page.get_by_role("button", name="How to read").all():
        button.click()
        help_text = page.locator(f"[id='{button.get_attribute('aria-controls')}']")
        assert len(help_text.inner_text()) > 60
        button.click()


@pytest.mark.parametrize("panel", ["Race", "Workload", "Scoreboard", "Load dial"])
def test_a_panel_is_saved_as_picture_and_data(panel: str, page: Page, tmp_path: Path) -> None:
    for action, ending in (("Save picture (PNG)", "png"), ("Save data (CSV)", "csv")):
        page.get_by_role("button", name=f"{panel}: more").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=action).click()
        download.value.save_as(tmp_path / f"saved.{ending}")
        assert download.value.suggested_filename.endswith(f".{ending}")
    picture = (tmp_path / "saved.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 8_000, "an empty picture compresses to less"
    rows = list(csv.reader(io.StringIO((tmp_path / "saved.csv").read_text())))
    assert len(rows) > 1
    assert len({len(row) for row in rows}) == 1


def test_a_chart_can_be_read_as_a_table(page: Page) -> None:
    page.get_by_role("button", name="Workload: more").click()
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("region", name="Workload as a table")
    expect(table.get_by_role("columnheader", name="intensity")).to_be_visible()
    assert table.get_by_role("row").count() > 10


def test_the_window_of_tasks_can_be_chosen(page: Page) -> None:
    page.get_by_label("Panels look at the last").select_option("50")
    note = page.get_by_test_id("panel-scoreboard").get_by_test_id("window-note")
    expect(note).to_have_text("last 50 tasks")


def test_two_schedulers_side_by_side(page: Page) -> None:
    panel = page.get_by_test_id("panel-compare")
    panel.get_by_label("First scheduler").select_option("rl_agent")
    panel.get_by_label("Second scheduler").select_option("greedy")
    expect(panel.get_by_test_id("compare-duel")).to_contain_text("rl agent was sooner on")
