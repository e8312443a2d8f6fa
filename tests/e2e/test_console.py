"""The console names everybody, says nothing twice, and can be filtered; the Pulse knows the run before the page."""

from __future__ import annotations

import json
from typing import Any

import httpx
from browser_pages import NewPage, eventually
from playwright.sync_api import Page, WebSocketRoute, expect
from served_dashboard import ServedDashboard


def lines(page: Page) -> list[dict[str, str]]:
    """What the console shows."""
    found: list[dict[str, str]] = page.get_by_test_id("console-line").evaluate_all(
        "lines => lines.map((line) => ({...line.dataset, text: line.innerText}))"
    )
    return found


def test_every_scheduler_appears_and_no_line_twice_also_after_a_reload(
    page: Page, live_server: ServedDashboard
) -> None:
    racing = set(live_server.get("/api/status")["settings"]["schedulers"])
    assert eventually(lambda: {line["scheduler"] for line in lines(page)} >= racing)
    before = [line["id"] for line in lines(page)]
    page.reload()
    assert eventually(lambda: any(int(line["id"]) > int(before[-1]) for line in lines(page)))
    after = lines(page)
    ids = [int(line["id"]) for line in after]
    assert ids == sorted(set(ids))
    assert set(before[-20:]) <= {line["id"] for line in after}, "a reload must not empty the console"
    decisions = [line["text"] for line in after if line["kind"] == "decision"]
    told = [text.split("+")[0].split(" ", 1)[1] for text in decisions]  # without the clock and what was left out
    assert len(set(told)) == len(told)


def test_lines_are_filtered_by_scheduler_and_kind_and_the_rest_is_counted(page: Page) -> None:
    panel = page.get_by_test_id("panel-console")
    panel.get_by_label("Lines about this scheduler").select_option("oracle")
    panel.get_by_text("Decisions", exact=True).click()
    assert eventually(lambda: len(lines(page)) > 0)
    assert {(line["kind"], line["scheduler"]) for line in lines(page)} == {("decision", "oracle")}
    assert int(panel.get_by_test_id("console-skipped").get_attribute("data-value") or 0) > 0
    panel.get_by_text("Errors", exact=True).click()
    expect(panel.get_by_test_id("empty")).to_contain_text("None of the last")


def test_a_bad_message_is_said_once_and_left_out(new_page: NewPage, live_server: ServedDashboard) -> None:
    page = new_page()
    relays: list[WebSocketRoute] = []

    def relay(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        relays.append(socket)

    page.route_web_socket("**/ws", relay)
    page.goto(live_server.address)
    page.get_by_test_id("race-bar").first.wait_for()
    for bad in ("{", json.dumps({"type": "gossip"}), json.dumps({"type": "simulation_update", "seq": 10**9})):
        relays[0].send(bad)
    expect(page.get_by_test_id("notice").filter(has_text="does not understand")).to_have_count(1)
    first = int(page.get_by_test_id("progress").get_attribute("data-value") or 0)
    expect(page.get_by_test_id("progress")).not_to_have_attribute("data-value", str(first))


def test_the_pulse_knows_the_run_from_before_the_page_was_opened(
    new_page: NewPage, live_server: ServedDashboard
) -> None:
    def known() -> dict[str, Any]:
        answer: dict[str, Any] = live_server.get("/api/simulation/pulse", scheduler="oracle")
        return answer

    assert eventually(lambda: len(known()["points"]) > 20, seconds=120)
    page = new_page()
    page.goto(f"{live_server.address}/scheduler/oracle")
    pulse = page.get_by_test_id("pulse")
    page.get_by_text("Whole run", exact=True).click()
    assert eventually(lambda: int(pulse.get_attribute("data-points") or 0) > 20)
    assert {each.get_attribute("data-device") for each in page.get_by_test_id("pulse-device").all()} == set(
        known()["devices"]
    )
    assert httpx.get(f"{live_server.address}/api/simulation/pulse?scheduler=nobody").status_code == 404
