"""Draw the pictures of the theory chapters: `python scripts/make_theory_pictures.py [FOLDER]`.

From the real simulator, labels and learners, with fixed seeds: the same sources draw the same pictures. About a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.features import feature_matrix
from hybrid_scheduler.learning.forest.forest import Forest, ForestSettings
from hybrid_scheduler.model import FloatArray, TaskBatch
from hybrid_scheduler.physics.cost import TableCost, gpu_speedup
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.reports.plots.style import FAINT, INK, canvas, entitle, legend_beside
from hybrid_scheduler.schedulers.colours import colour_of
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

DEFAULT = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "theory"
CPU, GPU = "#d97706", "#2563eb"
LOADS = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9)
TASKS = 100_000
MEMORY_MB = 300.0
TREES = (1, 2, 4, 8, 16, 32, 64)
LEARNING_TASKS, STEP = 8000, 500


def one_device(seconds: FloatArray, load: float, seed: int) -> Race:
    """Poisson arrivals at one device, at a share of what it can take."""
    arrival = np.cumsum(np.random.default_rng(seed).exponential(seconds.mean() / load, len(seconds)))
    ones = np.ones(len(seconds))
    tasks = TaskBatch.from_columns(ones, ones, ones, arrival_time=arrival, duration_estimate=ones)
    cost = TableCost(seconds[:, None], tuple(range(len(seconds))), ("cpu_0",))
    return Race(tasks, World(ClusterSpec.default(num_gpus=0), Physics(cost)), warmup=len(seconds) // 10)


def mean_wait(race: Race) -> float:
    """Seconds."""
    outcomes = race.counted(race.run(create_scheduler("cpu_only")))
    return float((outcomes.response_time - outcomes.actual_time).mean())


def waiting() -> Figure:
    """Mean wait against load: the formulas as lines, our simulator as dots."""
    figure, (axes,) = canvas(3.4)
    load = np.linspace(0.01, 0.93, 200)
    draw = np.random.default_rng(1)
    kinds = {
        "times that vary (M/M/1)": (draw.exponential(1.0, TASKS), 1.0, GPU),
        "times all alike (M/D/1)": (np.ones(TASKS), 0.5, CPU),
    }
    for name, (seconds, factor, colour) in kinds.items():
        axes.plot(load, factor * load / (1 - load), color=colour, label=name)
        found = [mean_wait(one_device(seconds, each, seed=2)) for each in LOADS]
        axes.plot(LOADS, found, "o", color=colour, markersize=5, markeredgecolor="white")
    axes.set_xlabel("load: share of the time the device is busy")
    axes.set_ylabel("mean wait, in mean execution times")
    entitle(axes, "One device: lines are the formulas, dots our simulator")
    legend_beside(axes)
    return figure


def order() -> Figure:
    """Three tasks that wait, in two orders."""
    figure, axes = canvas(1.9, columns=2, sharey=True)
    for axis, (name, tasks) in zip(
        axes, {"in order of arrival": (10, 1, 2), "shortest first": (1, 2, 10)}.items(), strict=True
    ):
        start = 0.0
        for seconds in tasks:
            axis.barh(0, seconds, left=start, color=GPU, edgecolor="white", height=0.5)
            axis.text(start + seconds / 2, 0, str(seconds), ha="center", va="center", color="white", fontsize=8)
            start += seconds
            axis.annotate(f"{start:g}", (start, 0.3), ha="center", fontsize=8, color=INK)
        ends = np.cumsum(tasks)
        axis.set(ylim=(-0.5, 0.7), yticks=[], xlim=(0, 14))
        axis.set_xlabel(f"seconds; mean end {ends.mean():.2f}")
        entitle(axis, name)
    return figure


def speedups() -> Figure:
    """Both models of a GPU's speedup."""
    figure, (axes,) = canvas(3.2)
    intensity = np.linspace(0, 1, 200)
    axes.plot(intensity, gpu_speedup(intensity, "linear"), color=GPU, label="linear: 1 + 3 I")
    axes.plot(intensity, gpu_speedup(intensity, "amdahl"), color=CPU, label="amdahl: 1 / ((1 − I) + I / 4)")
    axes.set_xlabel("compute intensity I")
    axes.set_ylabel("speedup of a GPU")
    axes.set_ylim(0.9, 4.1)
    entitle(axes, "The same at both ends, far apart between")
    legend_beside(axes)
    return figure


def where_gpus_win() -> Figure:
    """GPU time over CPU time by size and intensity, for a fixed amount of memory to move."""
    size, intensity = np.geomspace(30, 5000, 120), np.linspace(0, 1, 100)
    grid = np.meshgrid(size, intensity)
    columns = [each.ravel() for each in grid]
    tasks = TaskBatch.from_columns(*columns, np.full(columns[0].size, MEMORY_MB))
    seconds = Physics().nominal_times(tasks, ClusterSpec.default(num_gpus=1)).sum(axis=1)
    ratio = (seconds[:, 1] / seconds[:, 0]).reshape(grid[0].shape)
    figure, (axes,) = canvas(3.4)
    shown = axes.pcolormesh(size, intensity, ratio, cmap="PuOr_r", norm=LogNorm(0.1, 10), shading="nearest")
    axes.contour(size, intensity, ratio, levels=[1.0], colors=INK, linewidths=1.5)
    axes.set_xscale("log")
    axes.set_xlabel("size")
    axes.set_ylabel("compute intensity")
    figure.colorbar(shown, ax=axes, label="GPU time over CPU time")
    entitle(axes, f"{MEMORY_MB:.0f} MB to move: right of the line a GPU is quicker")
    return figure


def labelled(seed: int, tasks: int) -> tuple[FloatArray, FloatArray]:
    """Features, and the logarithm of the seconds on a GPU."""
    batch = WorkloadGenerator(seed).generate("mixed", tasks)
    return feature_matrix(batch), np.log(World().timed(batch, seed).labels().seconds[:, 1:2])


def one_tree() -> Figure:
    """What a tree of three questions on a path says, over size and intensity."""
    x, y = labelled(1, 3000)
    forest = Forest(ForestSettings(n_estimators=1, max_depth=3, min_samples_leaf=20), x.shape[1], 1, seed=4)
    forest.grow(x, y)
    size, intensity = np.geomspace(100, 3000, 240), np.linspace(0.05, 1, 160)
    grid = np.meshgrid(size, intensity)
    columns = [each.ravel() for each in grid]
    memory = np.maximum(10.0, columns[0] / 10.0)
    said = np.exp(forest.predict(feature_matrix(TaskBatch.from_columns(*columns, memory)))).reshape(grid[0].shape)
    figure, (axes,) = canvas(3.4)
    shown = axes.pcolormesh(size, intensity, said, cmap="viridis", norm=LogNorm(), shading="nearest")
    dots = x[:250]
    axes.scatter(dots[:, 0], dots[:, 1], s=5, color="white", edgecolors=FAINT, linewidths=0.3)
    axes.set(xscale="log", xlim=(100, 3000), ylim=(0.05, 1.0))
    axes.set_xlabel("size")
    axes.set_ylabel("compute intensity")
    figure.colorbar(shown, ax=axes, label="seconds on a GPU")
    entitle(axes, "One tree, three questions deep: a staircase")
    return figure


def more_trees() -> Figure:
    """Error on other tasks as trees are added."""
    x, y = labelled(1, 1000)
    other, truth = labelled(2, 4000)
    errors = []
    for trees in TREES:
        found = []
        for seed in range(5):
            forest = Forest(ForestSettings(n_estimators=trees, max_depth=15, min_samples_leaf=3), x.shape[1], 1, seed)
            forest.grow(x, y)
            found.append(float(np.abs(forest.predict(other) - truth).mean()))
        errors.append(100 * np.expm1(np.mean(found)))
    figure, (axes,) = canvas(2.9)
    axes.plot(TREES, errors, "o-", color=colour_of("hybrid_ml"))
    axes.set_xscale("log", base=2)
    axes.set_xticks(TREES, [str(each) for each in TREES])
    axes.set_ylim(0, None)
    axes.set_xlabel("trees, each grown on a sample of 1000 tasks")
    axes.set_ylabel("typical error, %")
    entitle(axes, "Many trees err less than one, on tasks they have not met")
    return figure


def warming_up() -> Figure:
    """A cold agent's response over the oracle's, along a run."""
    tasks = WorkloadGenerator(11).generate("mixed", LEARNING_TASKS, 0.6 * capacity("mixed", World()))
    race = Race(tasks, seed=11)
    oracle = race.run(create_scheduler("oracle")).response_time
    figure, (axes,) = canvas(3.2)
    steps = np.arange(0, LEARNING_TASKS, STEP)
    for name in ("rl_agent", "mct"):
        response = race.run(create_scheduler(name, 1)).response_time
        ratio = [response[i : i + STEP].sum() / oracle[i : i + STEP].sum() for i in steps]
        label = "rl_agent, cold" if name == "rl_agent" else name
        axes.plot(steps + STEP, ratio, "o-", markersize=4, color=colour_of(name), label=label)
    axes.axhline(1.0, color=colour_of("oracle"), label="oracle")
    axes.set_xlabel(f"tasks, in steps of {STEP}")
    axes.set_ylabel("response over the oracle's")
    axes.set_ylim(0, None)
    entitle(axes, "An agent that starts knowing nothing")
    legend_beside(axes)
    return figure


def discount() -> Figure:
    """What a later cost counts today."""
    figure, (axes,) = canvas(2.8)
    later = np.arange(0, 101)
    for gamma, colour in ((0.0, FAINT), (0.9, CPU), (0.97, GPU), (0.99, INK)):
        axes.plot(later, gamma**later, color=colour, label=f"γ = {gamma:g}")
    axes.set_xlabel("decisions later")
    axes.set_ylabel("what a cost counts now")
    entitle(axes, "The discount γ")
    legend_beside(axes)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "waiting.svg": waiting,
    "order.svg": order,
    "speedups.svg": speedups,
    "where-gpus-win.png": where_gpus_win,
    "one-tree.png": one_tree,
    "more-trees.svg": more_trees,
    "warming-up.svg": warming_up,
    "discount.svg": discount,
}


def main() -> None:
    """Write all of them to the folder named on the command line, or to docs/pictures/theory."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        with mpl.rc_context({"svg.hashsalt": name}):
            about = {"Date": None} if name.endswith(".svg") else {"Software": None}
            picture().savefig(folder / name, metadata=about, dpi=110)
    total = sum(file.stat().st_size for file in folder.iterdir())
    sys.stdout.write(f"{folder}: {len(PICTURES)} pictures, {total / 1e6:.2f} MB\n")


if __name__ == "__main__":
    main()
