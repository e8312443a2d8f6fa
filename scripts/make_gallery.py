"""Draw the pictures of docs/gallery.md: `python scripts/make_gallery.py [--plots | --panels] [--out FOLDER]`.

Plots come from small experiments, one of every kind, so that each plot of the catalogue is drawn once; panels are
photographed one by one from a real `hms serve` in a real Chromium. Takes about three minutes on two quiet cores; needs
Node.js when the dashboard is not built yet.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright
from take_screenshots import RACE_SECONDS, SETTLE_MS, with_palette

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.registry import experiment_classes
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.hardware.machine import usable_cores
from hybrid_scheduler.reports.catalogue import PLOTS, draw
from hybrid_scheduler.reports.race import OneRace, race_run
from hybrid_scheduler.reports.run_folder import Run, open_run
from hybrid_scheduler.scenario import Load, PresetTasks, Scenario
from hybrid_scheduler.schedulers.registry import create_scheduler

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = ROOT / "docs" / "pictures" / "gallery"

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from browser_pages import free_port  # noqa: E402
from served_dashboard import ServedDashboard, build_dashboard  # noqa: E402

SEEDS = range(1, 6)
SMALL: dict[str, Any] = {"tasks": 200, "train_tasks": 200}
SIZES: dict[str, dict[str, Any]] = {
    "adversarial": {"train_tasks": 0, "scheduler": "sjf", "generations": 20},
    "heavy": {"tasks": 1000},
    "mixed": {"tasks": 500, "train_tasks": 500},
    "shift": {"tasks": 300, "train_tasks": 400},
}
"""Tasks of each experiment: few, because a picture needs a typical shape, not a result."""
WINDOW, PLOT_WIDTH, PANEL_WIDTH = 1000, 760, 700
LOAD, SPEED = "0.3", "5"
SHIFTED = "cpu_favourable"
BUSY, CROWD, TRIES = 0.8, 8, 60
"""For the panels of tasks that wait: the load, how many shall wait, and how often that is looked at."""
GRAPH_WIDTH, GRAPH_DEPTH = 6, 4
"""Of tasks that depend on each other: so many side by side, in so many layers between the first and the last."""
VIEWS = {"Global comparison": None, "Scheduler details": "rl agent", "Historical analysis": None}
"""Links to the views with panels; of which scheduler, where there is one for each."""


def draw_plots(folder: Path) -> list[str]:
    """One picture of every plot; gives their names."""
    done: list[str] = []
    with tempfile.TemporaryDirectory(prefix="hms-gallery-") as scratch:
        for run in (*_experiments(Path(scratch)), _graph(Path(scratch))):
            wanted = [name for name in run.document["plots"] if name not in done]
            for picture in draw(run, Path(scratch), wanted):
                name = max((name for name in wanted if picture.name.startswith(name)), key=len)
                if name not in done:
                    _keep(picture.path, folder / f"plot-{name}.png", PLOT_WIDTH)
                    done.append(name)
    if lacking := PLOTS.keys() - set(done):
        sys.exit(f"no run draws {', '.join(sorted(lacking))}; give one the data for it")
    return done


def _experiments(scratch: Path) -> list[Run]:
    runs = []
    # Ablations last: the others draw the same plots with fewer lines.
    for name, kind in sorted(experiment_classes().items(), key=lambda each: each[0] == "ablation"):
        folder = scratch / name
        chosen = kind(**(SMALL | SIZES.get(name, {})))
        write_result(run_experiment(chosen, SEEDS, jobs=1 if kind.alone else usable_cores(), folder=folder), folder)
        runs.append(open_run(folder))
    return runs


def _graph(scratch: Path) -> Run:
    """A race of tasks that wait for each other."""
    scenario = Scenario(PresetTasks("uniform", dependency_prob=0.5), num_tasks=40, arrivals=Load(0.6), seed=3)
    race = Race(scenario.batch(), scenario.world, seed=scenario.seed)
    outcomes = {name: race.run(create_scheduler(name)) for name in ("mct", "oracle")}
    one = OneRace("", "", scenario.seed, race.tasks, outcomes, scenario.world.facts())
    return race_run(one, scratch / "graph")


def take_panels(folder: Path) -> list[str]:
    """One picture of every panel of every view; gives their ids."""
    build_dashboard()
    done: list[str] = []
    with (
        tempfile.TemporaryDirectory() as scratch,
        # Learners are saved often, so that their history has something to show.
        ServedDashboard(Path(scratch), free_port(), "--load", LOAD, "--speed", SPEED, SAVE_INTERVAL="10") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        size = ViewportSize(width=WINDOW, height=2400)
        context = browser.new_context(viewport=size, color_scheme="dark")
        context.add_init_script("localStorage.setItem('hms.tour.seen', 'true')")
        page = context.new_page()
        page.goto(server.address)
        _race(page, server)
        for view, scheduler in VIEWS.items():
            page.get_by_role("link", name=view, exact=True).click()
            if scheduler is not None:
                page.get_by_role("link", name=scheduler).click()
            page.wait_for_timeout(SETTLE_MS)
            done += _photograph(page, folder)
        _crowd(page, server)
        page.get_by_role("link", name="Global comparison", exact=True).click()
        _photograph(page, folder, "panel-waiting")
        page.get_by_role("link", name="Scheduler details", exact=True).click()
        page.get_by_role("link", name="sjf", exact=True).click()
        _photograph(page, folder, "panel-timeline")
        _dependent(page, server)
        page.goto(f"{server.address}/scheduler/mct")
        _photograph(page, folder, "panel-graph")
        browser.close()
    return done


def _crowd(page: Page, server: ServedDashboard) -> None:
    """A run of its own, so that nobody overloaded holds results back; halted when some wait and are overtaken."""
    server.change(schedulers=["sjf"], load=BUSY, speed=1.0)
    for _ in range(TRIES):
        server.post("/api/simulation/resume")
        page.wait_for_timeout(SETTLE_MS)
        server.post("/api/simulation/pause")
        tasks = server.get("/api/simulation/waiting", scheduler="sjf")["tasks"]
        if len(tasks) >= CROWD and tasks[0]["overtaken"] > 0:
            return
    sys.exit(f"there were never {CROWD} tasks in the waiting room of sjf, the oldest overtaken; raise BUSY")


def _dependent(page: Page, server: ServedDashboard) -> None:
    """A run of its own with a graph in it: one task, layers in which each waits for two of the one before, one task."""
    server.change(schedulers=["mct"], load=0.05, speed=5.0)
    server.post("/api/simulation/pause")
    layer = [_submit(server, 2000.0, [])]
    for depth in range(GRAPH_DEPTH):
        layer = [
            _submit(server, 1500.0 + 900.0 * ((3 * place + depth) % 5), [layer[place % len(layer)], layer[-1]])
            for place in range(GRAPH_WIDTH)
        ]
    last = _submit(server, 3000.0, layer)
    server.post("/api/simulation/resume")
    for _ in range(TRIES):
        page.wait_for_timeout(SETTLE_MS)
        if any(task["task_id"] == last for task in server.get("/api/graph", scheduler="mct")["tasks"]):
            server.post("/api/simulation/pause")
            return
    sys.exit(f"task {last}, the last of the graph, did not finish")


def _submit(server: ServedDashboard, size: float, parents: list[int]) -> int:
    wanted = {"size": size, "compute_intensity": 0.6, "memory_required": 100.0}
    number: int = server.post("/api/tasks", **wanted, dependencies=sorted(set(parents)))["task"]["task_id"]
    return number


def _race(page: Page, server: ServedDashboard) -> None:
    """Two runs, so that there is something to compare; the first has a shift, so that somebody retrains."""
    page.wait_for_timeout(RACE_SECONDS * 500)
    server.change(preset=SHIFTED)
    page.wait_for_timeout(RACE_SECONDS * 500)
    server.post("/api/simulation/stop")
    server.change(preset="mixed")
    server.post("/api/simulation/start")
    page.wait_for_timeout(RACE_SECONDS * 1000)
    server.post("/api/simulation/pause")  # bars that are just overtaking would lie on each other


def _photograph(page: Page, folder: Path, only: str = "") -> list[str]:
    """Every panel of the view, or one; gives their ids."""
    names = page.eval_on_selector_all("[data-testid^=panel-]", "panels => panels.map((each) => each.dataset.testid)")
    if only:
        page.get_by_test_id(only).wait_for()
        page.wait_for_timeout(SETTLE_MS)
        names = [only]
    for name in names:
        file = folder / f"{name}.png"
        page.get_by_test_id(name).screenshot(path=file)
        _keep(file, file, PANEL_WIDTH)
    return [re.sub("^panel-", "", name) for name in names]


def _keep(source: Path, target: Path, width: int) -> None:
    """Narrower, and with a palette instead of true colour."""
    with Image.open(source) as picture:
        small = picture.convert("RGB")
        small.thumbnail((width, 4 * width), Image.Resampling.LANCZOS)
        with_palette(small).save(target, optimize=True)


def main() -> None:
    """Draw what is asked for, by default all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plots", action="store_true", help="the plots alone")
    parser.add_argument("--panels", action="store_true", help="the panels alone")
    parser.add_argument("--out", type=Path, default=DEFAULT, metavar="FOLDER", help="default docs/pictures/gallery")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    drawn = [] if asked.panels else draw_plots(asked.out)
    taken = [] if asked.plots else take_panels(asked.out)
    total = sum(file.stat().st_size for file in asked.out.glob("*.png"))
    sys.stdout.write(f"{asked.out}: {len(drawn)} plots, {len(taken)} panels, {total / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
