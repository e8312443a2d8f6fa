"""Photograph every view of the dashboard for README and site: `python scripts/take_screenshots.py [FOLDER]`.

A real `hms serve` at 30 % load and a real Chromium: phone, laptop and wide screen, dark theme, whole pages. A small
experiment is run first, so that the Experiments view has something to show. Takes about two minutes; needs Node.js when
the dashboard is not built yet.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = ROOT / "docs" / "screenshots"

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from browser_pages import free_port  # noqa: E402
from served_dashboard import ServedDashboard, build_dashboard  # noqa: E402

VIEWS = {
    "global": "Global comparison",
    "scheduler": "Scheduler details",
    "history": "Historical analysis",
    "experiments": "Experiments",
}
"""Name of the file and of the link that leads there."""
SIZES = {390: 844, 1280: 900, 1920: 1080}
LOAD, SPEED = "0.3", "5"
RACE_SECONDS = 30.0
SETTLE_MS = 2_500
LOAD_MS = 30_000
EXPERIMENT_SECONDS = 240.0


def run_experiment(server: ServedDashboard) -> None:
    """Run `mixed` small, with the race paused meanwhile."""
    server.post("/api/simulation/pause")
    job = server.post("/api/experiments", name="mixed", seeds=2, tasks=500)
    deadline = time.monotonic() + EXPERIMENT_SECONDS
    while job["state"] == "running":
        if time.monotonic() > deadline:
            sys.exit(f"the experiment took longer than {EXPERIMENT_SECONDS} s: {job}")
        time.sleep(0.5)
        job = server.get(f"/api/experiments/{job['id']}")
    if job["state"] != "finished":
        sys.exit(f"the experiment {job['state']}: {job['message']}")
    server.post("/api/simulation/resume")


def open_view(page: Page, name: str) -> None:
    """Go there as a person would: the page stays, and with it what Pulse has seen."""
    page.get_by_role("link", name=VIEWS[name], exact=True).click()
    if name == "scheduler":
        page.get_by_role("link", name="rl agent").click()
    if name == "experiments":
        page.get_by_role("button", name="Figures and plots of run").click()
    page.wait_for_timeout(SETTLE_MS)
    # A panel may still wait for something rare, such as a retraining, and says so.
    expect(page.get_by_text(re.compile("^Loading …"))).to_have_count(0, timeout=LOAD_MS)


def photograph(page: Page, width: int, file: Path) -> None:
    """The whole page, without passing messages, with a palette instead of true colour."""
    page.set_viewport_size(ViewportSize(width=width, height=SIZES[width]))
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(SETTLE_MS)
    page.evaluate("document.querySelectorAll('[data-testid=notice] button').forEach((button) => button.click())")
    # The window grows to the page before, not while the picture is taken: charts may be missing from it otherwise.
    tall = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size(ViewportSize(width=width, height=max(tall, SIZES[width])))
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=file)
    with Image.open(file) as picture:
        small = with_palette(picture.convert("RGB"))
    small.save(file, optimize=True)


def with_palette(picture: Image.Image) -> Image.Image:
    """Half of the palette goes to what covers most (the dark gradients), half to small patches of bright colour."""
    common = picture.quantize(128, method=Image.Quantize.MEDIANCUT).getpalette() or []
    bright = picture.quantize(128, method=Image.Quantize.FASTOCTREE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette(common[: 3 * 128] + bright[: 3 * 128])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def main() -> None:
    """Write all of them to the folder named on the command line, or to docs/screenshots."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    folder.mkdir(parents=True, exist_ok=True)
    build_dashboard()
    with (
        tempfile.TemporaryDirectory() as scratch,
        ServedDashboard(Path(scratch), free_port(), "--load", LOAD, "--speed", SPEED) as server,
        sync_playwright() as playwright,
    ):
        run_experiment(server)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(viewport=ViewportSize(width=1280, height=SIZES[1280]), color_scheme="dark")
        context.add_init_script("localStorage.setItem('hms.tour.seen', 'true')")
        page = context.new_page()
        page.goto(server.address)
        page.wait_for_timeout(RACE_SECONDS * 1000)
        for view in VIEWS:
            open_view(page, view)
            for width in SIZES:
                photograph(page, width, folder / f"{view}-{width}.png")
        browser.close()
    total = sum(file.stat().st_size for file in folder.glob("*.png"))
    sys.stdout.write(f"{folder}: {len(VIEWS) * len(SIZES)} pictures, {total / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
