"""What the dashboard asks of a browser: first load, main thread, memory.

    python benchmarks/dashboard.py [--seconds 30] [--updates 3000]

A real `hms serve` and a real Chromium, the global view with all its panels. First load: every file the page fetches,
gzipped. Main thread: the share of time it is busy at 5 updates a second. Memory: the JavaScript heap after garbage
collection while updates come at 50 a second. Node.js is needed to build the dashboard.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, Response, ViewportSize, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "e2e"))
from browser_pages import UpdateCount, free_port, heap_mebibytes
from served_dashboard import ServedDashboard, build_dashboard

FIRST_LOAD_KB, BUSY_SHARE, HEAP_GROWTH = 350, 0.35, 1.15
"""What must hold."""
SETTLE_SECONDS = 15
SPEED = "20"


def open_dashboard(browser: Browser, server: ServedDashboard) -> tuple[Page, UpdateCount, list[Response]]:
    """The global view with data in its panels, its updates counted from now on, and what it fetched."""
    context = browser.new_context(viewport=ViewportSize(width=1920, height=1500))
    context.add_init_script("localStorage.setItem('hms.tour.seen', 'true')")
    page = context.new_page()
    count, fetched = UpdateCount(page), list[Response]()
    page.on("response", lambda answer: fetched.append(answer))
    page.goto(server.address)
    page.get_by_test_id("ledger-row").first.wait_for()
    return page, count, fetched


def first_load(browser: Browser, server: ServedDashboard) -> float:
    """Kilobytes, gzipped, of the page and everything it fetches but data."""
    page, _, fetched = open_dashboard(browser, server)
    page.wait_for_timeout(2000)
    files = [answer for answer in fetched if "/api/" not in answer.url and answer.request.resource_type != "websocket"]
    total = sum(len(gzip.compress(answer.body())) for answer in files)
    page.context.close()
    return total / 1000


def busy_share(browser: Browser, server: ServedDashboard, seconds: float) -> tuple[float, float]:
    """Share of time the main thread works, and updates per second that came."""
    page, count, _ = open_dashboard(browser, server)
    page.wait_for_timeout(SETTLE_SECONDS * 1000)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "timeTicks"})
    updates, began, worked = count.updates, time.monotonic(), _task_seconds(devtools)
    page.wait_for_timeout(seconds * 1000)
    elapsed = time.monotonic() - began
    result = (_task_seconds(devtools) - worked) / elapsed, (count.updates - updates) / elapsed
    page.context.close()
    return result


def heap_course(browser: Browser, server: ServedDashboard, updates: int) -> list[float]:
    """Mebibytes of JavaScript heap after each fifth of so many updates."""
    page, count, _ = open_dashboard(browser, server)
    devtools = page.context.new_cdp_session(page)
    course = []
    for fifth in range(1, 6):
        while count.updates < updates * fifth / 5:
            page.wait_for_timeout(500)
        course.append(heap_mebibytes(devtools))
    page.context.close()
    return course


def _task_seconds(devtools: CDPSession) -> float:
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


def _print_row(what: str, figure: str, rule: str, holds: bool) -> None:
    print(f"{what:<34}{figure:>34}   {rule:<22}{'ok' if holds else 'MISSED'}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--updates", type=int, default=3000)
    options = parser.parse_args()
    build_dashboard()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with ServedDashboard(Path(folder), free_port(), "--speed", SPEED, UPDATE_HZ="5") as server:
            kilobytes = first_load(browser, server)
            _print_row("first load, gzipped", f"{kilobytes:.0f} kB", f"< {FIRST_LOAD_KB} kB", kilobytes < FIRST_LOAD_KB)
            share, rate = busy_share(browser, server, options.seconds)
            what = f"main thread at {rate:.1f} updates/s"
            _print_row(what, f"{share:.1%} busy", f"< {BUSY_SHARE:.0%}", share < BUSY_SHARE)
        with ServedDashboard(Path(folder), free_port(), "--speed", SPEED, UPDATE_HZ="50") as server:
            course = heap_course(browser, server, options.updates)
            flat = course[-1] < course[0] * HEAP_GROWTH
            figures = " ".join(f"{size:.1f}" for size in course)
            _print_row(f"heap over {options.updates} updates", f"{figures} MiB", "flat", flat)
        browser.close()


if __name__ == "__main__":
    main()
