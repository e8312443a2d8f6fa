"""A lost connection is visible and heals by itself; a token is asked for."""

from __future__ import annotations

import time
from pathlib import Path

from browser_pages import SPEED, Complaints, NewPage, UpdateCount, free_port, heap_mebibytes
from playwright.sync_api import expect
from served_dashboard import ServedDashboard

UPDATES = 3000
MOST_SECONDS = 1500
"""A busy machine shows two updates a second; how fast a quiet one is, `benchmarks/dashboard.py` measures."""
LOST = "WebSocket connection|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|503"
"""What a page complains about while a service stops or starts; 503 is what it says when it is about to."""


def test_it_reconnects_after_the_server_restarts(
    built: None, new_page: NewPage, complaints: Complaints, tmp_path: Path
) -> None:
    complaints.expect(LOST)
    with ServedDashboard(tmp_path, free_port(), "--speed", SPEED) as server:
        page = new_page()
        page.goto(server.address)
        page.get_by_test_id("ledger-row").first.wait_for()
        server.stop()
        banner = page.get_by_test_id("connection-banner")
        expect(banner).to_contain_text("Connection lost")
        expect(page.get_by_test_id("state-pill")).to_have_attribute("data-state", "lost")
        expect(page.get_by_test_id("ledger-row").first).to_be_visible()
        expect(page.get_by_role("button", name="Pause")).to_be_disabled()
        server.start()
        expect(banner).to_have_count(0, timeout=40_000)
        expect(page.get_by_test_id("state-pill")).to_have_attribute("data-state", "running", timeout=40_000)
        first = page.get_by_test_id("progress").get_attribute("data-value") or ""
        expect(page.get_by_test_id("progress")).not_to_have_attribute("data-value", first)


def test_a_token_is_asked_for_refused_and_taken(
    built: None, new_page: NewPage, complaints: Complaints, tmp_path: Path
) -> None:
    complaints.expect("WebSocket connection")
    with ServedDashboard(tmp_path, free_port(), "--speed", SPEED, API_TOKEN="open-sesame") as server:
        page = new_page()
        page.goto(server.address)
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("wants a token")
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("was refused")
        dialog.get_by_label("Token").fill("open-sesame")
        dialog.get_by_role("button", name="Use token").click()
        expect(page.get_by_test_id("state-pill")).to_have_attribute("data-state", "running")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_test_id("state-pill")).to_have_attribute("data-state", "paused")
        assert page.evaluate("sessionStorage.getItem('hms.token')") == "open-sesame"
        assert page.evaluate("Object.values(localStorage).includes('open-sesame')") is False
        page.close()  # before the service ends: a page that goes on asking would complain


def test_three_thousand_updates_leave_memory_flat(
    built: None, new_page: NewPage, complaints: Complaints, tmp_path: Path
) -> None:
    complaints.expect(LOST)
    with ServedDashboard(tmp_path, free_port(), "--speed", SPEED, UPDATE_HZ="50") as server:
        page = new_page()
        count = UpdateCount(page)
        page.goto(server.address)
        page.get_by_test_id("ledger-row").first.wait_for()
        devtools = page.context.new_cdp_session(page)
        sizes = []
        deadline = time.monotonic() + MOST_SECONDS
        for quarter in (1, 2, 3, 4):
            while count.updates < UPDATES * quarter / 4:
                assert time.monotonic() < deadline, f"only {count.updates} updates in {MOST_SECONDS} s"
                page.wait_for_timeout(500)
            sizes.append(heap_mebibytes(devtools))
        # The first quarter fills what is bounded: a minute of utilization, 300 lines of log, 200 tasks.
        assert sizes[-1] < sizes[0] * 1.15 + 1, f"heap in MiB grew: {sizes}"
