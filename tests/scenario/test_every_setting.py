"""Every key of `config.yaml` and every documented variable reaches every command it applies to."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import yaml
from pydantic import SecretStr

from hybrid_scheduler.api.compare import Contest
from hybrid_scheduler.cli import main
from hybrid_scheduler.config.files import VARIABLES
from hybrid_scheduler.config.sections import Config, Section
from hybrid_scheduler.config.service import ServiceSettings, load_service_settings
from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.model.objective import Objective
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import PresetTasks, Scenario
from hybrid_scheduler.schedulers.base import Scheduler

TASKS = ("compare", "generate", "train", "pipeline", "serve")
"""Commands with tasks of their own; experiments have fixed ones."""
ALL = (*TASKS, "experiment")
RACING = tuple(command for command in ALL if command != "generate")
ARGUMENTS = {
    "compare": ["--schedulers", "hybrid_ml"],
    "generate": ["--out", "out.csv"],
    "train": ["--schedulers", "hybrid_ml"],
    "pipeline": [],
    "serve": ["--schedulers", "hybrid_ml"],
    "experiment": ["heavy", "--no-store"],
}


class ReachedError(Exception):
    """The command is about to work: what it would work on is known."""


@dataclass
class Seen:
    """What a command made of its settings."""

    world: World
    scenario: Scenario | None = None
    scheduler: Scheduler | None = None
    plan: Plan | None = None

    @property
    def device(self) -> Any:
        return self.world.cluster.devices[0]

    @property
    def disturbance(self) -> Any:
        return self.world.cluster.disturbances[0]


Look = Callable[..., Seen]


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Look:
    """Runs a command up to the point where it begins to work."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    seen: list[Seen] = []

    def stop(found: Seen) -> None:
        seen.append(found)
        raise ReachedError

    def contest(self: Contest, *_: object, **__: object) -> None:
        stop(Seen(self.scenario.world, self.scenario, self.schedulers["hybrid_ml"]))

    def train(learners: Mapping[str, Scheduler], scenario: Scenario, folder: object, **_: Any) -> None:
        race = original[-1] if original else scenario
        stop(Seen(race.world, race, learners["hybrid_ml"]))

    original: list[Scenario] = []
    training_of = Scenario.training

    def training(self: Scenario, tasks: int) -> Scenario:
        original.append(self)  # the pipeline's race; what it trains on has a seed and a number of its own
        return training_of(self, tasks)

    def experiment(chosen: Any, *_: object, **__: object) -> None:
        stop(Seen(chosen.world, scheduler=chosen.create("hybrid_ml", 1)))

    def live(settings: object, start: Any) -> None:
        plan = Plan.of(start)
        stop(Seen(plan.world, plan.scenario, plan.build("hybrid_ml"), plan))

    def write(out: object, tasks: object, only: object = ()) -> None:
        if str(out) == "out.csv":
            stop(Seen(scenarios[-1].world, scenarios[-1]))

    scenarios: list[Scenario] = []
    batch_of = Scenario.batch

    def batch(self: Scenario) -> Any:
        scenarios.append(self)
        return batch_of(self)

    class Profiler:
        def __init__(self, **_: object) -> None: ...
        def profile_range(self, _: object) -> Any:
            return type("Found", (), {"note": None, "warning": None})

        def save_profile(self, _: object) -> None: ...

    def machine(*_: object) -> CalibratedMachine:
        rows = [Measurement("matmul", size, "cpu_0", 0.0, size) for size in (1.0, 1000.0)]
        return CalibratedMachine.of(rows, ClusterSpec.default(0), {}, {})

    monkeypatch.setattr(Contest, "run", contest)
    monkeypatch.setattr(Scenario, "training", training)
    monkeypatch.setattr(Scenario, "batch", batch)
    monkeypatch.setattr("hybrid_scheduler.training.learners.train_models", train)
    monkeypatch.setattr("hybrid_scheduler.experiments.runner.run_experiment", experiment)
    monkeypatch.setattr("hybrid_scheduler.live.live_engine", live)
    monkeypatch.setattr("hybrid_scheduler.workloads.write_csv", write)
    monkeypatch.setattr("hybrid_scheduler.hardware.HardwareProfiler", Profiler)
    monkeypatch.setattr(importlib.import_module("hybrid_scheduler.cli.pipeline"), "measured", machine)

    def run(command: str, *more: str) -> Seen:
        original.clear()
        with pytest.raises(ReachedError):
            assert main([command, *ARGUMENTS[command], *more]) == 0
        return seen.pop()

    return run


def in_range(name: str, low: float, high: float) -> Callable[[Seen], bool]:
    """Batch and stream lie within a range of the file."""

    def holds(seen: Seen) -> bool:
        assert seen.scenario is not None
        arrived = seen.scenario.stream().until(np.inf, 50, 0)
        assert arrived is not None
        columns = [getattr(tasks, name) for tasks in (seen.scenario.batch(), arrived.tasks)]
        return all(low <= column.min() and column.max() <= high for column in columns)

    return holds


def is_told(path: str, value: object) -> Callable[[Seen], bool]:
    """Something of what is seen has this value."""

    def holds(seen: Seen) -> bool:
        found: Any = seen
        for step in path.split("."):
            found = getattr(found, step, None)  # a calibrated cost model has no speedup
        return bool(found == value)

    return holds


def a_device(key: str, value: object) -> tuple[str, Callable[[Seen], bool], tuple[str, ...]]:
    entry = {"name": "one", "kind": "gpu", key: value}
    return yaml.safe_dump({"cluster": {"devices": [entry]}}), is_told(f"device.{key}", value), ALL


def a_disturbance(key: str, value: object) -> tuple[str, Callable[[Seen], bool], tuple[str, ...]]:
    entry = {"time": 1.0, "device": "gpu_0", "speed": 0.5, key: value}
    return yaml.safe_dump({"cluster": {"disturbances": [entry]}}), is_told(f"disturbance.{key}", value), ALL


PROBES: dict[str, tuple[str, Callable[[Seen], bool], tuple[str, ...]]] = {
    "simulation.num_gpus": ("simulation: {num_gpus: 2}", lambda seen: len(seen.world.cluster.devices) == 3, ALL),
    "simulation.retrain_interval": (
        "simulation: {retrain_interval: 7}",
        is_told("scheduler.retrain_interval", 7),
        RACING,
    ),
    "simulation.seed": ("simulation: {seed: 5}", is_told("scenario.seed", 5), TASKS),
    "simulation.speed": ("simulation: {speed: 3}", is_told("plan.speed", 3.0), ("serve",)),
    "simulation.weights": (
        "simulation: {weights: {time: 1, money: 3}}",
        is_told("scheduler.goals", Objective(0.25, 0.0, 0.75)),
        RACING,
    ),
    "workload.preset": ("workload: {preset: bursty, rate: 2}", is_told("scenario.preset", "bursty"), TASKS),
    "workload.num_tasks": ("workload: {num_tasks: 17}", is_told("scenario.count", 17), TASKS[:4]),
    "workload.size_range": ("workload: {size_range: [100, 200], rate: 2}", in_range("size", 100, 200), TASKS),
    "workload.intensity_range": (
        "workload: {intensity_range: [0.1, 0.2], rate: 2}",
        in_range("compute_intensity", 0.1, 0.2),
        TASKS,
    ),
    "workload.memory_range": ("workload: {memory_range: [1, 2], rate: 2}", in_range("memory_required", 1, 2), TASKS),
    "workload.load": ("workload: {load: 0.25}", lambda seen: abs(seen.scenario.load - 0.25) < 1e-12, TASKS),  # type: ignore[union-attr,operator]
    "workload.rate": ("workload: {rate: 3.25}", is_told("scenario.rate", 3.25), TASKS),
    "cluster.devices.name": a_device("name", "mine"),
    "cluster.devices.kind": a_device("kind", "gpu"),
    "cluster.devices.speed": a_device("speed", 2.5),
    "cluster.devices.memory_mb": a_device("memory_mb", 77.0),
    "cluster.devices.bandwidth": a_device("bandwidth", 99.0),
    "cluster.devices.latency": a_device("latency", 0.25),
    "cluster.devices.watts": a_device("watts", 11.0),
    "cluster.devices.idle_watts": a_device("idle_watts", 3.0),
    "cluster.devices.dollars_per_second": a_device("dollars_per_second", 0.5),
    "cluster.devices.node": a_device("node", 4),
    "cluster.disturbances.time": a_disturbance("time", 12.5),
    "cluster.disturbances.device": a_disturbance("device", "cpu_0"),
    "cluster.disturbances.speed": a_disturbance("speed", 0.125),
    "cluster.network_bandwidth": (
        "cluster: {network_bandwidth: 77}",
        is_told("world.cluster.network_bandwidth", 77.0),
        ALL,
    ),
    "physics.speedup": ("physics: {speedup: amdahl}", is_told("world.physics.cost.speedup", "amdahl"), ALL),
    "physics.split": ("physics: {split: serial}", is_told("world.physics.split", "serial"), ALL),
    "physics.coexecution_penalty": (
        "physics: {coexecution_penalty: 0.5}",
        is_told("world.physics.coexecution_penalty", 0.5),
        ALL,
    ),
    "physics.cost": ("physics: {cost: electricity}", is_told("world.physics.pricing", "electricity"), ALL),
    "physics.memory_policy": ("physics: {memory_policy: fail}", is_told("world.physics.memory_policy", "fail"), ALL),
    "physics.noise": ("physics: {noise: 0.4}", is_told("world.physics.noise", 0.4), ALL),
    "schedulers": ("schedulers: {hybrid_ml: {window: 77}}", is_told("scheduler.window", 77), RACING),
}
"""Of every key: a file that sets it, what then holds, and for which commands."""


def keys(section: type[Section], prefix: str = "") -> Iterator[str]:
    for name, field in section.model_fields.items():
        inner = next(_sections(field.annotation), None)
        if inner is None:
            yield prefix + name
        else:
            yield from keys(inner, f"{prefix}{name}.")


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from _sections(argument)


def test_every_key_has_a_probe() -> None:
    assert sorted(PROBES) == sorted(keys(Config))


@pytest.mark.parametrize("key", PROBES)
def test_a_key_reaches_every_command_it_applies_to(key: str, look: Look) -> None:
    text, holds, commands = PROBES[key]
    data = yaml.safe_load(text)
    # A rate spares the commands the capacity of unusual nodes, which takes a second.
    data.setdefault("workload", {"rate": 2.0} if "workload" not in data else {})
    Path("config.yaml").write_text(yaml.safe_dump(data))
    for command in commands:
        assert holds(look(command)), command


def test_without_a_file_nothing_of_this_holds(look: Look) -> None:
    """A probe that always holds would show nothing."""
    seen = {command: look(command) for command in ALL}
    for key, (_, holds, commands) in PROBES.items():
        if not key.startswith("cluster.disturbances"):
            assert not any(holds(seen[command]) for command in commands), key


RACE: dict[str, tuple[str, Callable[[Seen], bool], tuple[str, ...]]] = {
    "NUM_GPUS": ("2", lambda seen: len(seen.world.cluster.devices) == 3, ALL),
    "RETRAIN_INTERVAL": ("7", is_told("scheduler.retrain_interval", 7), RACING),
    "WEIGHTS": ("time=1,money=3", is_told("scheduler.goals", Objective(0.25, 0.0, 0.75)), RACING),
}
BESIDE = {"WEIGHTS": "energy=1"}
"""What stands in `.env` when the environment says otherwise; 5 where this says nothing."""
FILE = """
simulation: {num_gpus: 3, retrain_interval: 9, weights: "time=1"}
cluster: {devices: [{name: one, kind: cpu}]}
schedulers: {hybrid_ml: {retrain_interval: 11, energy_weight: 0.9}}
workload: {rate: 2}
"""


@pytest.mark.parametrize("name", RACE)
@pytest.mark.parametrize("where", ["environment", ".env"])
def test_a_variable_of_the_race_beats_the_file(
    name: str, where: str, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, holds, commands = RACE[name]
    Path("config.yaml").write_text(FILE)
    if where == ".env":
        Path(".env").write_text(f"{name}={text}\n")
    else:
        Path(".env").write_text(f"{name}={BESIDE.get(name, 5)}\n")
        monkeypatch.setenv(name, text)
    for command in commands:
        assert holds(look(command)), command


def test_the_command_line_beats_the_environment(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUM_GPUS", "2")
    for command in ("compare", "generate", "train", "pipeline"):
        assert len(look(command, "--gpus", "1", "--rate", "2").world.cluster.devices) == 2, command


@pytest.mark.parametrize(("name", "bad"), [("NUM_GPUS", "many"), ("RETRAIN_INTERVAL", "0")])
@pytest.mark.parametrize("command", ALL)
def test_a_bad_variable_is_refused_by_every_command(
    name: str, bad: str, command: str, look: Look, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".env").write_text(f"{name}={bad}\n")
    assert main([command, *ARGUMENTS[command]]) == 2
    error = capsys.readouterr().err
    assert f"environment variable {name} is '{bad}', but it must be a whole number from" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", RACING)
def test_wrong_weights_in_the_environment_are_refused(
    command: str, look: Look, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".env").write_text("WEIGHTS=time=-1\n")
    assert main([command, *ARGUMENTS[command]]) == 2
    assert "environment variable WEIGHTS: weights: time is -1.0, but it must be" in capsys.readouterr().err


def test_who_says_what_counts(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller beats the environment, which beats a scheduler's own entry, which beats the file's weights."""
    Path("config.yaml").write_text(
        "simulation: {weights: {money: 1}}\nschedulers: {hybrid_ml: {energy_weight: 0.25}}\nworkload: {rate: 2}\n"
    )
    assert is_told("scheduler.goals", Objective(0.75, 0.25))(look("compare"))
    assert is_told("plan.objective", Objective(money=1.0))(look("serve"))
    monkeypatch.setenv("WEIGHTS", "energy=1")
    assert is_told("scheduler.goals", Objective(energy=1.0))(look("compare"))
    for command in ("compare", "train"):
        assert is_told("scheduler.goals", Objective(0.5, 0.0, 0.5))(look(command, "--weights", "time=2,money=2"))
        assert is_told("scheduler.goals", Objective(0.25, 0.75))(look(command, "--energy-weight", "0.75"))


def test_serve_races_only_tasks_within_the_ranges(look: Look) -> None:
    Path("config.yaml").write_text("workload: {size_range: [100, 200]}")
    seen = look("serve")
    assert seen.plan is not None
    assert in_range("size", 100, 200)(seen)
    changed = seen.plan.changed(Path(), preset="bursty").changed(Path(), preset="mixed")
    assert changed.scenario.source == PresetTasks("mixed", size_range=(100.0, 200.0))
    assert changed.load == pytest.approx(0.05)


SERVICE: dict[str, tuple[str, object]] = {
    "ENVIRONMENT": ("test", "test"),
    "POSTGRES_HOST": ("db", "db"),
    "POSTGRES_PORT": ("5433", 5433),
    "POSTGRES_USER": ("me", "me"),
    "POSTGRES_PASSWORD": ("word", SecretStr("word")),
    "POSTGRES_DB": ("other", "other"),
    "DATABASE_URL": ("sqlite+aiosqlite:///x.db", SecretStr("sqlite+aiosqlite:///x.db")),
    "REDIS_HOST": ("cache", "cache"),
    "REDIS_URL": ("redis://cache", SecretStr("redis://cache")),
    "API_TOKEN": ("secret", SecretStr("secret")),
    "ALLOWED_HOSTS": ("a.example, b.example", ("a.example", "b.example")),
    "ALLOWED_ORIGINS": ("https://a.example", ("https://a.example",)),
    "RATE_LIMIT": ("7/minute", "7/minute"),
    "WRITE_RATE_LIMIT": ("8/minute", "8/minute"),
    "MAX_BODY_BYTES": ("2048", 2048),
    "MAX_CLIENTS": ("3", 3),
    "MAX_CONNECTIONS": ("4", 4),
    "MAX_CONNECTIONS_PER_ADDRESS": ("5", 5),
    "UPDATE_HZ": ("6", 6.0),
    "LOG_FORMAT": ("json", "json"),
    "LOG_LEVEL": ("DEBUG", "DEBUG"),
    "LOG_FILE": ("x.log", "x.log"),
    "MODEL_FOLDER": ("m", "m"),
    "TRACE_FOLDER": ("t", "t"),
    "RESULTS_FOLDER": ("r", "r"),
    "RESULTS_KEPT": ("9", 9),
    "RETENTION_DAYS": ("1.5", 1.5),
    "RETENTION_TASKS": ("10", 10),
    "RETENTION_MB": ("32", 32),
    "SAVE_INTERVAL": ("2.5", 2.5),
    "LEARN_FROM_STORE": ("true", True),
}


def test_every_documented_variable_is_known() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE)
    assert sorted(documented) == sorted([*SERVICE, *RACE])
    assert sorted(SERVICE) == sorted(name.upper() for name in ServiceSettings.model_fields)
    assert sorted(RACE) == sorted(VARIABLES)


@pytest.mark.parametrize("where", ["environment", ".env"])
def test_every_variable_of_the_service_is_read(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    default = {name: getattr(load_service_settings(), name.lower()) for name in SERVICE}
    for name, (text, _) in SERVICE.items():
        if where == "environment":
            monkeypatch.setenv(name, text)
    if where == ".env":
        Path(".env").write_text("".join(f'{name}="{text}"\n' for name, (text, _) in SERVICE.items()))
    told = load_service_settings()
    for name, (_, value) in SERVICE.items():
        assert getattr(told, name.lower()) == value != default[name]
