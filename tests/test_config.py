"""`config.yaml`: what it can say, and how it complains."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hybrid_scheduler.config import Config, load_cluster, load_config
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.cost import FormulaCost
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.settings import Physics

# SPEC section 8, with a scheduler that exists.
WHOLE = """
simulation: {num_gpus: 4, retrain_interval: 50, seed: 42, speed: 1.0}
workload: {preset: mixed, num_tasks: 1000, size_range: [100, 5000], intensity_range: [0.05, 1.0],
           memory_range: [10, 500], load: 0.6}
cluster:            # instead of simulation.num_gpus, when the devices are unlike
  devices:
    - {name: cpu_0, kind: cpu, speed: 1.0, watts: 30, dollars_per_second: 0.00002}
    - {name: gpu_0, kind: gpu, speed: 1.0, memory_mb: 8000, bandwidth: 16000, watts: 50, dollars_per_second: 0.0001}
physics: {speedup: linear, split: concurrent, coexecution_penalty: 0.05, cost: cloud, memory_policy: fallback,
          noise: 0.0}
schedulers: {random: {seed: 3}, greedy: }
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def load(path: Path, text: str, **environment: str) -> Config:
    path.write_text(text)
    return load_config(path, environment)


def test_the_example_of_the_specification(path: Path) -> None:
    config = load(path, WHOLE)
    assert config.cluster_spec() == ClusterSpec.default(1)
    assert config.physics.build() == Physics()
    assert config.workload.size_range == (100.0, 5000.0)
    assert config.scheduler("random", 8).parameters() == {"seed": 3}


def test_the_defaults_are_those_of_the_example(path: Path) -> None:
    empty, whole = load(path, ""), load(path, WHOLE)
    assert empty.simulation == whole.simulation
    assert empty.physics == whole.physics
    assert empty.workload.num_tasks == whole.workload.num_tasks
    assert empty.cluster_spec() == ClusterSpec.default(4)
    assert empty.scheduler("random", 8).parameters() == {"seed": 8}


def test_physics(path: Path) -> None:
    text = "physics: {speedup: amdahl, split: serial, coexecution_penalty: 0.1, cost: electricity, noise: 1e-1}"
    expected = Physics(FormulaCost("amdahl"), "serial", 0.1, "fallback", 0.1, "electricity")
    assert load(path, text).physics.build() == expected


def test_devices_and_disturbances(path: Path) -> None:
    text = """
    simulation: {num_gpus: 2}
    cluster: {disturbances: [{time: 3, device: gpu_1, speed: 0}]}
    """
    cluster = load(path, text).cluster_spec()
    assert cluster == ClusterSpec.default(2).with_disturbances([Disturbance(3, "gpu_1", 0)])
    unlike = load(
        path, "cluster: {devices: [{name: big, kind: gpu, idle_watts: 9, node: 1, latency: 0.5}]}"
    ).cluster_spec()
    (device,) = unlike.devices
    assert (device.name, device.idle_watts, device.node, device.latency) == ("big", 9, 1, 0.5)
    assert device.memory_mb == 8000, "what is left out is the default of its kind"
    assert ClusterSpec.default(0).devices[0].memory_mb == math.inf


def test_environment_beats_file(path: Path) -> None:
    assert load(path, "simulation: {num_gpus: 1}", NUM_GPUS="3").cluster_spec() == ClusterSpec.default(3)
    assert load(path, WHOLE, NUM_GPUS="3").cluster_spec() == ClusterSpec.default(3)
    assert load(path, WHOLE, NUM_GPUS="").cluster_spec() == ClusterSpec.default(1)
    assert load(path, WHOLE, NUM_GPUS="3").cluster_spec(num_gpus=2) == ClusterSpec.default(2)


@pytest.mark.parametrize("text", ["four", "-1", "1025", "2.5"])
def test_wrong_environment(text: str) -> None:
    with pytest.raises(InvalidInputError, match="NUM_GPUS") as caught:
        load_config(None, {"NUM_GPUS": text})
    assert repr(text) in str(caught.value)


def test_the_working_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    assert load_config(None, {}) == Config()
    path.write_text("simulation: {seed: 7}")
    assert load_config(None, {}).simulation.seed == 7


def test_a_configuration_does_not_change(path: Path) -> None:
    config = load(path, WHOLE)
    with pytest.raises(ValueError, match="frozen"):
        config.simulation.seed = 1  # type: ignore[misc]


WRONG = {
    "unknown section": ("simulaton: {}", ["'simulaton'", "did you mean 'simulation'"]),
    "unknown key": ("physics: {splitt: serial}", ["physics", "'splitt'", "did you mean 'split'"]),
    "key of another section": ("seed: 3", ["'seed'", "did you mean 'simulation.seed'"]),
    "key in a device": (
        "cluster: {devices: [{name: a, kind: cpu}, {name: b, kind: gpu, memory: 5}]}",
        ["cluster.devices[1]", "'memory'", "did you mean 'memory_mb'"],
    ),
    "key in a disturbance": (
        "cluster: {disturbances: [{tme: 1, device: gpu_0, speed: 0}]}",
        ["cluster.disturbances[0]", "'tme'", "did you mean 'time'"],
    ),
    "missing key": ("cluster: {devices: [{name: a}]}", ["cluster.devices[0]", "'kind' is missing"]),
    "no devices": ("cluster: {devices: []}", ["cluster.devices", "must not be empty"]),
    "choice": ("physics: {split: both}", ["physics.split", "'both'", "'concurrent' or 'serial'"]),
    "yes for a number": ("physics: {noise: on}", ["physics.noise", "True"]),
    "negative noise": ("physics: {noise: -1}", ["physics", "noise is -1.0"]),
    "word for a number": ("workload: {load: much}", ["workload.load", "'much'", "number"]),
    "negative load": ("workload: {load: -1}", ["workload.load", "-1", "greater than or equal to 0.0001"]),
    "endless load": ("workload: {load: 5e-324}", ["workload.load", "0.0001"]),
    "live speed": ("simulation: {speed: 1.0e+300}", ["simulation.speed", "1e+300", "1000000"]),
    "infinite rate": ("workload: {rate: .inf}", ["workload.rate", "inf", "finite"]),
    "load and rate": ("workload: {load: 0.5, rate: 3}", ["workload", "leave one out"]),
    "no tasks": ("workload: {num_tasks: 0}", ["workload.num_tasks", "0"]),
    "half a GPU": ("simulation: {num_gpus: 1.5}", ["simulation.num_gpus", "1.5"]),
    "unknown preset": ("workload: {preset: mixd}", ["workload.preset", "did you mean 'mixed'"]),
    "range backwards": ("workload: {size_range: [9, 1]}", ["workload.size_range", "[9, 1]"]),
    "range beyond": ("workload: {intensity_range: [0, 2]}", ["workload.intensity_range", "within 0 to 1"]),
    "half a range": ("workload: {memory_range: [9]}", ["workload.memory_range", "[9]"]),
    "unknown scheduler": ("schedulers: {gredy: {}}", ["schedulers", "did you mean 'greedy'"]),
    "unknown parameter": ("schedulers: {random: {sed: 1}}", ["schedulers", "'random'", "did you mean 'seed'"]),
    "parameter nobody takes": ("schedulers: {greedy: {seed: 1}}", ["schedulers", "'greedy'", "'seed'"]),
    "parameter of wrong type": ("schedulers: {random: {seed: lucky}}", ["schedulers", "'lucky'", "number"]),
    "device twice": ("cluster: {devices: [{name: a, kind: cpu}, {name: a, kind: gpu}]}", ["cluster", "'a'"]),
    "speed of a device": (
        "cluster: {devices: [{name: a, kind: cpu, speed: 0}]}",
        ["cluster.devices[0]", "speed is 0.0"],
    ),
    "section that is none": ("physics: serial", ["physics", "'serial'", "mapping"]),
    "list": ("- physics", ["mapping"]),
    "broken YAML": ("physics:\n  split: [serial\n", ["line 3"]),
    "key twice": ("physics: {}\nworkload: {}\nphysics: {}\n", ["line 3", "'physics' occurs twice, in lines 1 and 3"]),
    "bytes": ("\x00", ["not readable as YAML"]),
}


@pytest.mark.parametrize(("text", "parts"), WRONG.values(), ids=WRONG)
def test_one_line_says_what_is_wrong(path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load(path, text)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no such file"):
        load_config(tmp_path / "none.yaml", {})
    with pytest.raises(InvalidInputError, match="directory"):
        load_config(tmp_path, {})


def test_a_cluster_file(path: Path) -> None:
    bare = "devices: [{name: cpu_0, kind: cpu}, {name: gpu_0, kind: gpu}]\n"
    path.write_text(bare)
    assert load_cluster(path) == ClusterSpec.default(1)
    path.write_text("cluster:\n  " + bare)
    assert load_cluster(path) == ClusterSpec.default(1)
    path.write_text(bare + "workload: {}\n")
    with pytest.raises(InvalidInputError, match="unknown key 'workload'"):
        load_cluster(path)
    path.write_text(bare + "physics: {noise: -1}\n")
    with pytest.raises(InvalidInputError, match=r"physics\.noise"):
        load_cluster(path)


def test_money_is_refused_for_a_scheduler_that_weighs_time_and_energy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from hybrid_scheduler.config import sections
    from hybrid_scheduler.model.objective import Objective

    class Older:
        objective = ("energy_weight",)

    monkeypatch.setattr(sections, "scheduler_class", lambda name: Older)
    assert sections.objective_arguments("older", Objective.of("time=3,energy=1")) == {"energy_weight": 0.25}
    with pytest.raises(
        InvalidInputError, match=r"money counts 0\.5, but scheduler 'older' weighs time and energy alone"
    ):
        sections.objective_arguments("older", Objective.of("time=1,money=1"))
