"""Photograph the five moments of "Show me": `python scripts/show_me_pictures.py [FOLDER] [--pace N]`.

A real `hms serve` with its default settings, a real Chromium, the guided run from beginning to end: what the pictures
tell is what happened. Takes about two minutes; needs Node.js when the dashboard is not built yet.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize, expect, sync_playwright
from take_screenshots import DEFAULT, ROOT, with_palette

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from browser_pages import free_port
from served_dashboard import ServedDashboard, build_dashboard

MOMENTS = 5
SECONDS = 60.0
"""The longest time between two moments, at the usual pace."""
SETTLE_MS = 700


def main() -> None:
    """Write them to the folder named on the command line, or to docs/screenshots; print what was told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--pace", type=float, default=1.0, help="how many times faster")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    build_dashboard()
    with (
        tempfile.TemporaryDirectory() as scratch,
        ServedDashboard(Path(scratch), free_port()) as server,
        sync_playwright() as playwright,
    ):
        before = server.get("/api/status")["settings"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(viewport=ViewportSize(width=1280, height=900), color_scheme="dark")
        context.add_init_script("localStorage.setItem('hms.tour.seen', 'true')")
        page = context.new_page()
        page.goto(f"{server.address}/?pace={asked.pace}")
        page.get_by_test_id("race-bar").first.wait_for()
        page.get_by_role("button", name="Show me").click()
        strip = page.get_by_test_id("show-me")
        for moment in range(1, MOMENTS + 1):
            expect(strip).to_have_attribute("data-moment", str(moment), timeout=SECONDS * 1000)
            if moment == MOMENTS:
                expect(strip).to_have_attribute("data-restored", "true", timeout=SECONDS * 1000)
            page.evaluate(
                "document.querySelectorAll('[data-testid=notice] button').forEach((button) => button.click())"
            )
            page.wait_for_timeout(SETTLE_MS)
            file = asked.folder / f"show-me-{moment}.png"
            page.screenshot(path=file)
            with Image.open(file) as picture:
                small = with_palette(picture.convert("RGB"))
            small.save(file, optimize=True)
        for said in strip.get_by_test_id("show-me-said").all():
            sys.stdout.write(f"{said.inner_text()}\n")
        browser.close()
        if (after := server.get("/api/status")["settings"]) != before:
            sys.exit(f"the settings were {before} before and are {after} now")


if __name__ == "__main__":
    main()
