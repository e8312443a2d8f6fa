"""RESULTS.md: assembled from documents, and every figure in it is theirs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.experiments.adversarial import Adversarial
from hybrid_scheduler.experiments.base import Experiment, Point, Record
from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.registry import experiment_classes
from hybrid_scheduler.experiments.result import ExperimentResult
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.experiments.statistics import Estimate, estimate
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.reports.claims import EARLIER, FOREST, HEADLINES, HOLDS, LESS, MORE, NO_RUN, UNSETTLED, within
from hybrid_scheduler.reports.evidence import OTHER, SAME, UNKNOWN, gather
from hybrid_scheduler.reports.plots.style import short
from hybrid_scheduler.reports.report import write_report
from hybrid_scheduler.reports.results_page import results_page, train_forests, weak_spots
from hybrid_scheduler.reports.run_folder import open_run
from hybrid_scheduler.reports.words import ends, with_interval
from hybrid_scheduler.scenario import ScenarioOptions

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "make_results.py"
SEEDS = (1, 2, 3, 4, 5)
METRICS = ("avg_response", "makespan", "cost", "energy", "total_time", "times_optimal", "overloaded", "load_balance")
FOREST_SCORES = estimate([0.799, 0.800, 0.801])
NAMES = ("shift", "heavy", "mixed", "load", "energy", "ablation", "order")


def _record(experiment: Experiment, seed: int, point: Point | None) -> Record:
    draw = np.random.default_rng([seed, sum(map(ord, f"{experiment.name} {point}"))])
    metrics = {*METRICS, *experiment.shown, *experiment.compared}
    figures = {
        name: {metric: float(0.5 + rank / 10 + 0.01 * draw.random()) for metric in sorted(metrics)}
        for rank, name in enumerate(experiment.schedulers)
    }
    return Record(seed, figures, clock={"experiment": {"wall_seconds": 1.0}}, point=point)


def _write(name: str, folder: Path) -> dict[str, Any]:
    """A run of made-up figures, written as real ones are."""
    # The published figures of the shift are for the serial split.
    experiment = experiment_classes()[name](
        world=World(physics=Physics(split="serial" if name == "shift" else "concurrent"))
    )
    records = tuple(_record(experiment, seed, point) for point in experiment.points() for seed in SEEDS)
    write_result(ExperimentResult(experiment, records, 1.0), folder / name)
    document: dict[str, Any] = json.loads((folder / name / "result.json").read_text())
    return document


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("results")
    return folder, {name: _write(name, folder) for name in NAMES}


@pytest.fixture(scope="module")
def page(made_up: tuple[Path, dict[str, dict[str, Any]]]) -> str:
    return results_page(gather([made_up[0]]), FOREST_SCORES, 300)


def _row(page: str, words: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {words} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_claim_has_a_row_with_state_figures_and_command(page: str) -> None:
    for claim in (*HEADLINES, *EARLIER):
        _, state, figures, command = _row(page, claim.words)
        assert state.strip("*"), claim.words
        assert re.search(r"\d", figures), claim.words
        assert command.startswith(f"`hms experiment {claim.experiment} --seeds 5 --seed 1 "), command
    assert "--split serial" in _row(page, HEADLINES[0].words)[3]
    assert "<" not in page, "no raw HTML"
    assert NO_RUN not in page


def test_differences_and_verdicts_are_those_of_the_documents(
    page: str, made_up: tuple[Path, dict[str, dict[str, Any]]]
) -> None:
    known = {
        f"{row['a']} less {row['b']} {row['difference']:+.4g} [{ends(row['low'], row['high'])}]: {row['verdict']}"
        for document in made_up[1].values()
        for point in document.get("points", [document])
        for row in point["comparisons"]
    }
    found = re.findall(r"\w+ less \w+ [^:]*: (?:better|worse|no difference shown)", page)
    assert len(found) >= 24
    assert set(found) <= known


def test_ratios_and_ranges_are_those_of_the_documents(
    page: str, made_up: tuple[Path, dict[str, dict[str, Any]]]
) -> None:
    mixed = made_up[1]["mixed"]["schedulers"]

    def over(a: str, b: str, metric: str) -> Estimate:
        return estimate([x / y for x, y in zip(mixed[a][metric]["values"], mixed[b][metric]["values"], strict=True)])

    speedup = _row(page, "RL has a speedup of 1.2–1.4 × over round robin")
    ratio = over("round_robin", "rl_agent", "makespan")
    assert with_interval(ratio) in speedup[2]
    assert speedup[1] == f"**{within(ratio, 1.2, 1.4)}**"
    assert with_interval(over("rl_agent", "oracle", "avg_response")) in page
    assert (
        with_interval(over("gpu_only", "cpu_only", "cost"))
        in _row(page, "GPUs cost 5 × as much (a setting, said again)")[2]
    )
    saved = 1 - over("rl_agent", "greedy", "makespan").mean
    assert f"{saved:.1%}" in _row(page, "RL has a 15–20 % better makespan than greedy on mixed tasks")[2]
    for name, words in (("mixed", "at a moderate load"), ("heavy", "at a high load")):
        balance = made_up[1][name]["schedulers"]["rl_agent"]["load_balance"]
        figure = Estimate(balance["mean"], balance["low"], balance["high"], ())
        assert with_interval(figure) in _row(page, f"Load balance is 0.90–0.95, {words}")[2]
    assert _row(page, FOREST)[1:3] == [
        "**holds**",
        f"test R² {with_interval(FOREST_SCORES)} over 3 forests of 300 tasks each",
    ]


def test_the_machine_is_as_recorded(page: str, made_up: tuple[Path, dict[str, dict[str, Any]]]) -> None:
    machine = made_up[1]["mixed"]["machine"]
    row = _row(page, "`mixed`")
    assert f"{machine['cores']} cores" in row[-1]
    assert row[-2] == SAME


def test_without_runs_there_are_no_figures() -> None:
    page = results_page({}, FOREST_SCORES, 300)
    for claim in (*HEADLINES, *EARLIER):
        assert _row(page, claim.words)[1:] == [f"**{NO_RUN}**", "–", f"`hms experiment {claim.experiment}`"]


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [(0.91, 0.94, HOLDS), (0.96, 0.97, MORE), (0.5, 0.89, LESS), (0.89, 0.91, UNSETTLED), (0.94, 0.96, UNSETTLED)],
)
def test_a_range_is_judged_by_the_whole_interval(low: float, high: float, state: str) -> None:
    assert within(Estimate((low + high) / 2, low, high, ()), 0.90, 0.95) == state


def _changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "result.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_the_best_run_counts(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        _write("shift", tmp_path / name)
    _changed(tmp_path / "first" / "shift", lambda d: d.update(sources="other", version="a"))
    _changed(tmp_path / "second" / "shift", lambda d: d.update(version="b"))
    _changed(tmp_path / "third" / "shift", lambda d: (d.pop("sources"), d.update(version="c")))
    folders = [tmp_path / name / "shift" for name in ("second", "first", "third")]
    assert gather(folders)["shift"].document["version"] == "b", "of the present sources"
    assert [gather([folder])["shift"].sources for folder in folders] == [SAME, OTHER, UNKNOWN]
    assert gather(folders[1:])["shift"].document["version"] == "c", "the last named of equals"
    with pytest.raises(InvalidInputError, match="does not exist"):
        gather([tmp_path / "nowhere"])
    (tmp_path / "odd.json").write_text("[]")
    with pytest.raises(InvalidInputError, match="no document"):
        gather([tmp_path / "odd.json"])


def test_weak_spots_are_those_of_the_documents(tmp_path: Path) -> None:
    assert "No run yet: `hms experiment adversarial`" in weak_spots({})
    for name in ("sjf", "fcfs"):
        result = run_experiment(Adversarial(scheduler=name, tasks=30, generations=0), [1])
        write_result(result, tmp_path / name)
        assert write_report(open_run(tmp_path / name)), "plots and PDF, without a table of devices"
    found = gather([tmp_path])
    assert set(found) == {"adversarial sjf mct avg_response", "adversarial fcfs mct avg_response"}
    page = results_page(found, FOREST_SCORES, 300)
    for name in ("sjf", "fcfs"):
        document = json.loads((tmp_path / name / "result.json").read_text())
        worst = document["worst"]
        _, figures, usual, redrawn, instance, replay, again = _row(page, f"{name} against mct")
        assert figures.startswith(f"**{short(worst['ratio'], 3)} ×**: mean response time, s: {name} ")
        assert usual.split()[0] == short(worst["random"], 3)
        assert redrawn.startswith(short(worst["redrawn"]["mean"]))
        assert instance == worst["instance"]
        assert replay.startswith(f"`hms compare --trace examples/weak-spots/{name}.csv --cluster ")
        assert again == f"`{worst['repeat']}`, 16 instances"
        late = document["schedulers"][name]["overloaded"]["values"][0] > 0
        assert (f"overloaded: {name}" in figures) == late
        assert _row(page, f"`adversarial {name} mct avg_response`")[1] == "1, from 1 on"


def test_the_weak_spots_of_the_page_are_among_the_examples() -> None:
    named = set(re.findall(r"examples/weak-spots/\w+\.(?:csv|yaml)", (ROOT / "RESULTS.md").read_text("utf-8")))
    assert named == {str(path.relative_to(ROOT)) for path in (ROOT / "examples" / "weak-spots").glob("*.[cy]*")}
    for trace in (path for path in named if path.endswith(".csv")):
        options = ScenarioOptions(trace=ROOT / trace, cluster=(ROOT / trace).with_suffix(".yaml"))
        load = options.scenario(Config()).load
        assert load is not None
        assert load < 0.91, "overload is no excuse"


def test_forests_are_trained_again_the_same() -> None:
    first = train_forests(150, (1, 2))
    assert first == train_forests(150, (1, 2))
    assert len(first.values) == 2
    assert all(value <= 1 for value in first.values)


def test_the_script(made_up: tuple[Path, dict[str, dict[str, Any]]], tmp_path: Path) -> None:
    words = ["--results", str(made_up[0]), "--out", "here.md", "--forest-tasks", "150", "--forest-seeds", "2"]
    done = subprocess.run([sys.executable, SCRIPT, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "wrote here.md\n", "")
    assert (tmp_path / "here.md").read_text() == results_page(gather([made_up[0]]), train_forests(150, (1, 2)), 150)
    bad = subprocess.run(
        [sys.executable, SCRIPT, "--results", "no"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "does not exist" in bad.stderr
