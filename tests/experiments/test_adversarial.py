"""The search for weak spots: seeded, never worse than its start, inside its ranges, and replayed bit for bit."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hybrid_scheduler.cli import app
from hybrid_scheduler.experiments.adversarial import NODE, RANDOM, REPLAY, SEARCH, TABLE, TRACE, Adversarial, evolve
from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.scenario.instances import (
    BURST,
    CLASSES,
    INTENSITY,
    LENGTH,
    LOAD,
    SIZE,
    TASK_MEMORY,
    WITHIN,
    Instance,
)
from hybrid_scheduler.scenario.random_nodes import BANDWIDTH, CPU_SPEED, CPUS, GPU_SPEED, GPUS, MEMORY


def _replayed(folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    """What the stored command says, typed as it stands."""
    command = document["worst"]["replay"].replace(TRACE, str(folder / TRACE)).replace(NODE, str(folder / NODE))
    assert document["worst"]["replay"] in (folder / REPLAY).read_text()
    done = CliRunner().invoke(app, [*command.split()[1:], "--json", "-"])
    assert done.exit_code == 0, done.output
    replayed: dict[str, Any] = json.loads(done.stdout)
    return replayed


@pytest.mark.parametrize(
    ("scheduler", "metric", "tasks", "generations"),
    [("sjf", "p99_response", 80, 4), ("hybrid_queue", "avg_response", 25, 0)],
)
def test_the_worst_is_replayed_bit_for_bit(
    scheduler: str, metric: str, tasks: int, generations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_scheduler.experiments.adversarial.REDRAWN", 2)
    experiment = Adversarial(scheduler=scheduler, metric=metric, tasks=tasks, generations=generations)
    said: list[str] = []
    result = run_experiment(experiment, [1, 2] if generations else [1], folder=tmp_path, say=said.append)
    files = write_result(result, tmp_path)
    assert {TRACE, NODE, REPLAY, TABLE} <= {path.name for path in files}
    document: Any = json.loads((tmp_path / "result.json").read_text())
    worst = document["worst"]
    replayed = _replayed(tmp_path, document)
    assert {name: replayed["schedulers"][name][metric] for name in worst["values"]} == worst["values"]
    assert worst["ratio"] == worst["values"][scheduler] / worst["values"]["mct"]
    assert worst["ratio"] == max(record.figures[SEARCH]["ratio"] for record in result.records)
    assert replayed["workload"]["load"] == result.records[worst["seed"] - 1].figures[SEARCH]["load"] < 0.91
    assert replayed["workload"]["warmup"] == tasks // 5
    assert said[-1].startswith(f"seed {result.seeds[-1]}, generation ")
    assert document["remarks"] == result.remarks
    assert worst["instance"] in "".join(result.remarks)


def test_the_search_never_loses_what_it_has(tmp_path: Path) -> None:
    experiment = Adversarial(scheduler="sjf", tasks=60, generations=6)
    result = run_experiment(experiment, [3], folder=tmp_path)
    (record,) = result.records
    ratios = record.samples[SEARCH]["ratio"]
    assert len(ratios) == record.figures[SEARCH]["evaluations"] == RANDOM + 6 * 8
    assert record.figures[SEARCH]["ratio"] == ratios.max() > ratios[:RANDOM].max(), "evolution found something worse"
    write_result(result, tmp_path)
    rows = list(csv.DictReader((tmp_path / TABLE).read_text().splitlines()))
    assert [float(row["worst"]) for row in rows] == np.maximum.accumulate(ratios).tolist()
    again = run_experiment(experiment, [3])
    assert again.records[0].figures == record.figures
    assert again.records[0].samples[SEARCH]["genes"].tolist() == record.samples[SEARCH]["genes"].tolist()


def test_a_search_by_the_clock_says_how_far_it_came() -> None:
    by_clock = run_experiment(Adversarial(scheduler="sjf", tasks=30, seconds=0.0), [1])
    repeat = by_clock.points[0].experiment.findings(by_clock.points)["worst"]["repeat"]  # type: ignore[index]
    assert "--generations 0 " in repeat, "no time for any"
    by_number = run_experiment(Adversarial(scheduler="sjf", tasks=30, generations=0), [1])
    assert by_number.records[0].figures == by_clock.records[0].figures
    assert Adversarial().seconds == 600.0


def test_evolution_climbs() -> None:
    goal = np.linspace(0.2, 0.8, LENGTH)
    told: list[float] = []
    best, seen, generations = evolve(
        lambda genes: -float(np.abs(genes - goal).sum()),
        np.random.default_rng(1),
        lambda generation: generation >= 150,
        lambda generation, evaluations, fitness: told.append(fitness),
    )
    assert generations == 150
    assert told == sorted(set(told))
    assert told[-1] == seen.max() > 0.4 * seen[:RANDOM].max(), "less than half of the start's error is left"
    assert ((best >= 0.0) & (best <= 1.0)).all()


@pytest.mark.parametrize("seed", range(8))
def test_instances_stay_inside_their_ranges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    genes = rng.random(LENGTH) if seed > 1 else np.full(LENGTH, float(seed))
    instance = Instance.of(genes, Physics())
    devices = instance.world.cluster.devices
    for kind, counts, speeds in (("cpu", CPUS, CPU_SPEED), ("gpu", GPUS, GPU_SPEED)):
        some = [device for device in devices if device.kind == kind]
        assert counts[0] <= len(some) <= counts[1]
        assert all(speeds.holds(device.speed) for device in some)
    gpus = [device for device in devices if device.kind == "gpu"]
    assert all(BANDWIDTH.holds(device.bandwidth) and MEMORY.holds(device.memory_mb) for device in gpus)
    assert CLASSES[0] <= len(instance.classes) <= CLASSES[1]
    assert sum(each.share for each in instance.classes) == pytest.approx(1.0)
    assert WITHIN.holds(instance.arrivals.within)
    assert BURST.low <= 1 / instance.arrivals.stop <= BURST.high + 1e-9
    scenario = instance.scenario(seed, 200, 40)
    tasks = scenario.batch()
    assert scenario.load == pytest.approx(instance.load, rel=1e-3)
    assert LOAD.low - 1e-3 <= instance.load <= LOAD.high + 1e-3
    for span, values in (
        (SIZE, tasks.size),
        (INTENSITY, tasks.compute_intensity),
        (TASK_MEMORY, tasks.memory_required),
    ):
        assert span.first_outside(values) is None
    assert tasks.memory_required.max() <= min(device.memory_mb for device in gpus), "every task fits everywhere"
    assert f"load {instance.load:.2f}" in instance.words()


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'sjf'"):
        Adversarial(scheduler="sjff")
    with pytest.raises(InvalidInputError, match="name two"):
        Adversarial(scheduler="mct")
    with pytest.raises(InvalidInputError, match="leave one out"):
        Adversarial(seconds=1.0, generations=1)
    with pytest.raises(UnknownNameError, match="metric"):
        Adversarial(metric="energy")
    with pytest.raises(InvalidInputError, match="experiment 'shift' has none"):
        CliRunner().invoke(app, ["experiment", "shift", "--scheduler", "sjf"], catch_exceptions=False)


def test_learners_care_for_time_alone() -> None:
    parameters: Any = Adversarial(scheduler="hybrid_queue", against="hybrid_ml").configuration()["parameters"]
    assert {name: chosen["energy_weight"] for name, chosen in parameters.items()} == {
        "hybrid_queue": 0.0,
        "hybrid_ml": 0.0,
    }
