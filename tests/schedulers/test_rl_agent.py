"""The agent: conformance, learning, surprise, saving and loading."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.dqn.policy import TRUST
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.testing import CheckedRace
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

RATE = 5e-4
"""Twice the default: the trainings here are short."""
LOAD_06 = 0.6 * capacity("mixed", World(ClusterSpec.default(), Physics()))


def mixed(seed: int, tasks: int) -> Race:
    return CheckedRace(WorkloadGenerator(seed).generate("mixed", tasks, LOAD_06), seed=seed)


@pytest.fixture(scope="module")
def trained() -> bytes:
    """A small agent after a short training, pickled so that every test gets its own."""
    agent = DQNScheduler(energy_weight=0.0, hidden=64, learning_rate=RATE, seed=1)
    agent.pretrain(mixed(101, 2500))
    return pickle.dumps(agent)


def mean_response(race: Race, name: str) -> float:
    return float(race.run(create_scheduler(name)).response_time.mean())


def test_a_short_training_beats_the_constant_policies(trained: bytes) -> None:
    race = mixed(7, 2500)
    agent = pickle.loads(trained)
    outcomes = race.run(agent)
    reached = float(outcomes.response_time.mean())
    assert reached < 0.6 * mean_response(race, "gpu_only")
    assert reached < 0.1 * mean_response(race, "cpu_only")
    assert reached < 1.3 * mean_response(race, "oracle")
    assert agent.updates >= 0.95 * (2500 + 2500)
    shares = np.bincount(outcomes.part_device, weights=outcomes.part_share, minlength=5) / 2500
    assert (shares > 0.02).all(), "a device is never used: a constant policy in disguise?"


def test_learning_leaves_the_threads_as_they_were(trained: bytes) -> None:
    before = torch.get_num_threads()
    mixed(12, 100).run(pickle.loads(trained))
    assert torch.get_num_threads() == before


def test_times_are_learned_from_outcomes(trained: bytes) -> None:
    outcomes = mixed(8, 800).run(pickle.loads(trained))
    errors = np.abs(np.log((outcomes.part_end - outcomes.part_start) / outcomes.part_expected))
    assert np.median(errors) < 0.05


def test_without_learning_the_compiled_policy_decides_the_same(trained: bytes) -> None:
    race = mixed(9, 400)
    agent = pickle.loads(trained)
    agent.learning = False
    compiled, called = race.run(agent), race.run(agent, compiled=False)
    assert np.array_equal(compiled.part_end, called.part_end)
    assert np.array_equal(compiled.part_device, called.part_device)
    assert agent.active_kernel() is not None


def test_save_load_and_continue_give_the_same_decisions(trained: bytes, tmp_path: Path) -> None:
    agent, race = pickle.loads(trained), mixed(10, 600)
    agent.save_model(tmp_path / "agent.pth")
    loaded = DQNScheduler(energy_weight=0.0, learning_rate=RATE, seed=99)
    loaded.load_model(tmp_path / "agent.pth")
    assert loaded.hidden == 64
    first, second = race.run(agent), race.run(loaded)
    assert np.array_equal(first.part_end, second.part_end)
    assert agent.updates == loaded.updates > 2500


def test_another_objective_keeps_the_times_only(trained: bytes, tmp_path: Path) -> None:
    pickle.loads(trained).save_model(tmp_path / "agent.pth", replay=False)
    loaded = DQNScheduler(energy_weight=0.5)
    loaded.load_model(tmp_path / "agent.pth")
    assert loaded.kernel_state()[TRUST] == 0.0
    assert (tmp_path / "agent.pth").stat().st_size < 200_000


def test_wrong_model_files_are_refused(trained: bytes, tmp_path: Path) -> None:
    agent = pickle.loads(trained)
    whole = tmp_path / "agent.pth"
    agent.save_model(whole)
    cut = tmp_path / "cut.pth"
    cut.write_bytes(whole.read_bytes()[:5000])
    foreign = tmp_path / "foreign.pth"
    torch.save({"weights": torch.zeros(3)}, foreign)
    pickled = tmp_path / "pickled.pth"
    pickled.write_bytes(pickle.dumps({"a": 1}))
    newer = tmp_path / "newer.pth"
    torch.save({**torch.load(whole, weights_only=True), "version": 2}, newer)
    for path, message in (
        (cut, "not a readable agent"),
        (foreign, "not an agent"),
        (pickled, "not a(n| readable) agent"),
        (newer, "version 2"),
        (tmp_path / "absent.pth", "no model file"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            DQNScheduler().load_model(path)
    loaded = DQNScheduler(energy_weight=0.0)
    loaded.load_model(whole)
    tasks = WorkloadGenerator(1).generate("mixed", 5, 1.0)
    with pytest.raises(InvalidInputError, match="1 CPUs and 4 GPUs, but the node has 1 and 2"):
        Race(tasks, World(ClusterSpec.default(2))).run(loaded)


def test_nothing_to_save_before_the_first_node(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="nothing to save"):
        DQNScheduler().save_model(tmp_path / "agent.pth")


def test_after_a_shift_it_finds_out_cheaply() -> None:
    """Trained where the GPU is right, then put where it is wrong: a few probes, and then the CPU."""
    agent = DQNScheduler(energy_weight=0.0, hidden=64, seed=2)
    agent.pretrain(Race(WorkloadGenerator(5).generate("gpu_favourable", 1500, 1.0), isolated=True))
    race = CheckedRace(WorkloadGenerator(6).generate("cpu_favourable", 200, 1.0), isolated=True)
    outcomes, best = race.run(agent), race.run(create_scheduler("oracle"))
    assert outcomes.actual_time.sum() < 1.6 * best.actual_time.sum()
    on_gpu = {o.task_id for o in outcomes if o.gpu_fraction > 0}
    assert 1 <= len(on_gpu) <= 15


@pytest.mark.parametrize(
    ("name", "value"),
    [("energy_weight", 1.5), ("gamma", 1.0), ("hidden", 0), ("epsilon", -0.1), ("learning_rate", 0.0)],
)
def test_wrong_parameters(name: str, value: float) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} is {value}"):
        DQNScheduler(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("fractions", [(), (0.0, 1.0), (0.5, 1.2), tuple(np.linspace(0.1, 1, 9))])
def test_wrong_fractions(fractions: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInputError, match="fractions are"):
        DQNScheduler(fractions=fractions)


def test_plain_devices_by_option() -> None:
    outcomes = mixed(11, 150).run(DQNScheduler(fractions=(1.0,), hidden=16))
    assert set(np.bincount(outcomes.part_task).tolist()) == {1}
