"""The agent: conformance, learning, surprise, saving and loading."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.agent_layout import TRUST
from hybrid_scheduler.learning.dqn.agent import YOUNG
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.rl_agent import PACKAGED, DQNScheduler
from hybrid_scheduler.testing import CheckedRace
from hybrid_scheduler.training.pretrained import idle_view
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

LOAD_06 = 0.6 * capacity("mixed", World(ClusterSpec.default(), Physics()))


def mixed(seed: int, tasks: int) -> Race:
    return CheckedRace(WorkloadGenerator(seed).generate("mixed", tasks, LOAD_06), seed=seed)


@pytest.fixture(scope="module")
def trained() -> bytes:
    """A small agent after a short training, pickled so that every test gets its own."""
    agent = DQNScheduler(energy_weight=0.0, hidden=64, seed=1, pretrained=False)
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
    loaded = DQNScheduler(energy_weight=0.0, seed=99)
    loaded.load_model(tmp_path / "agent.pth")
    assert loaded.hidden == 64
    first, second = race.run(agent), race.run(loaded)
    assert np.array_equal(first.part_end, second.part_end)
    assert agent.updates == loaded.updates > 2500


def test_another_objective_is_another_input(trained: bytes, tmp_path: Path) -> None:
    """What was learned counts for every objective, and the file without its replay is small."""
    pickle.loads(trained).save_model(tmp_path / "agent.pth", replay=False)
    joules = []
    for weight in (0.0, 0.5, 1.0):
        loaded = DQNScheduler(energy_weight=weight)
        loaded.load_model(tmp_path / "agent.pth")
        assert loaded.kernel_state()[TRUST] == pytest.approx(loaded.updates / YOUNG)
        joules.append(float(mixed(10, 400).run(loaded).energy.sum()))
    assert joules == sorted(joules, reverse=True)
    assert joules[2] < 0.95 * joules[0]
    assert (tmp_path / "agent.pth").stat().st_size < 100_000


def test_a_file_without_its_replay_acts_as_the_agent_did(trained: bytes, tmp_path: Path) -> None:
    """An agent acts by the slow mean of its network, so that is what is kept when the rest is not."""
    agent, loaded = pickle.loads(trained), DQNScheduler(energy_weight=0.0, learning=False)
    agent.learning = False
    agent.save_model(tmp_path / "agent.pth", replay=False)
    loaded.load_model(tmp_path / "agent.pth")
    assert np.array_equal(mixed(10, 400).run(agent).part_end, mixed(10, 400).run(loaded).part_end)


def test_on_another_node_it_knows_all_but_the_devices(trained: bytes, tmp_path: Path) -> None:
    agent = pickle.loads(trained)
    agent.save_model(tmp_path / "agent.pth")
    world = World(ClusterSpec.default(2))
    race = CheckedRace(WorkloadGenerator(3).generate("mixed", 400, 0.5 * capacity("mixed", world)), world)
    for learning in (True, False):
        loaded = DQNScheduler(energy_weight=0.0, learning=learning)
        loaded.load_model(tmp_path / "agent.pth")
        before = loaded.kernel_state()
        outcomes = race.run(loaded)
        after = loaded.kernel_state()
        assert not outcomes.failed.any()
        assert loaded.updates > 2400
        if not learning:
            assert np.array_equal(before[-1000:], after[-1000:]), "the weights have changed"
            assert np.array_equal(outcomes.part_end, race.run(loaded, compiled=False).part_end)
    # Back on its node it has forgotten that one, too, but not what it was trained for.
    home = mixed(10, 200)
    assert np.array_equal(home.run(loaded).part_end, home.run(loaded, compiled=False).part_end)


def test_every_device_of_a_new_node_is_tried() -> None:
    """Public figures do not say which GPU is fast: a packaged agent finds out, and then uses it."""
    gpus = tuple(Device(f"gpu_{i}", "gpu", speed=4.0 if i == 3 else 0.5) for i in range(4))
    world = World(ClusterSpec((Device("cpu_0", "cpu"), *gpus)))
    agent = DQNScheduler(energy_weight=0.0)
    path = agent.packaged_model(idle_view(world))
    assert path is not None
    agent.load_model(path)
    tasks = WorkloadGenerator(5).generate("mixed", 600, 0.3 * capacity("mixed", world))
    outcomes = CheckedRace(tasks, world).run(agent)
    first = outcomes.part_task < 30
    assert set(outcomes.part_device[first].tolist()) == {0, 1, 2, 3, 4}
    late = outcomes.part_task >= 100
    share = np.bincount(outcomes.part_device[late], weights=outcomes.part_share[late], minlength=5)
    assert share[4] > 3 * share[1:4].max()
    errors = np.abs(np.log((outcomes.part_end - outcomes.part_start) / outcomes.part_expected))
    assert np.median(errors[late]) < 0.05


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
    torch.save({**torch.load(whole, weights_only=True), "version": 9}, newer)
    for path, message in (
        (cut, "not a readable agent"),
        (foreign, "not an agent"),
        (pickled, "not a(n| readable) agent"),
        (newer, "version 9"),
        (tmp_path / "absent.pth", "no model file"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            DQNScheduler().load_model(path)


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


def test_training_goes_on_from_the_packaged_network_if_it_may() -> None:
    packaged = DQNScheduler(energy_weight=0.0)
    packaged.load_model(PACKAGED)
    for options in ({"pretrained": False}, {"hidden": 32}, {"fractions": (1.0,)}):
        agent = DQNScheduler(energy_weight=0.0, **options)
        agent.begin_training(200)
        assert agent.updates == 0
    agent = DQNScheduler(energy_weight=0.0)
    agent.pretrain(mixed(13, 200))
    assert agent.updates > packaged.updates


def test_an_agent_that_came_from_a_larger_node_is_saved_whole(tmp_path: Path) -> None:
    """Its transitions are as wide as those of the largest node it has been on."""
    large, small = World(ClusterSpec.default(8)), World(ClusterSpec.default(2))
    agent = DQNScheduler(energy_weight=0.0)
    agent.load_model(PACKAGED)
    for world in (large, small):
        rate = 0.5 * capacity("mixed", world)
        CheckedRace(WorkloadGenerator(3).generate("mixed", 300, rate), world).run(agent)
    agent.save_model(tmp_path / "agent.pth")
    loaded = DQNScheduler(energy_weight=0.0)
    loaded.load_model(tmp_path / "agent.pth")
    race = CheckedRace(WorkloadGenerator(4).generate("mixed", 300, 0.5 * capacity("mixed", large)), large)
    assert np.array_equal(race.run(agent).part_end, race.run(loaded).part_end)


def test_the_packaged_agent_knows_the_default_node_and_is_ready_to_be_wrong() -> None:
    """Without learning it acts on what it knows; with it, the same devices at other speeds are learned at once."""
    race = mixed(14, 1500)
    frozen = DQNScheduler(energy_weight=0.0, learning=False)
    frozen.load_model(PACKAGED)
    assert float(race.run(frozen).response_time.mean()) < 1.1 * mean_response(race, "mct")
    speeds = (1.0, 1.0, 3.0, 0.4)
    gpus = tuple(replace(gpu, speed=s) for gpu, s in zip(ClusterSpec.default().devices[1:], speeds, strict=True))
    other = World(ClusterSpec((ClusterSpec.default().devices[0], *gpus)))
    agent = DQNScheduler(energy_weight=0.0)
    agent.load_model(PACKAGED)
    tasks = WorkloadGenerator(15).generate("mixed", 400, 0.4 * capacity("mixed", other))
    outcomes = CheckedRace(tasks, other).run(agent)
    errors = np.abs(np.log((outcomes.part_end - outcomes.part_start) / outcomes.part_expected))
    assert np.median(errors[-200:]) < 0.1
