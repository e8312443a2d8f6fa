"""The Gymnasium environment: it is the race, other people's agents run on it, and its rewards are what tasks cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env as check_for_sb3

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model import Decision, InvalidInputError, Task
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import SITUATIONS
from hybrid_scheduler.testing.nodes import Situation
from hybrid_scheduler.testing.race import CheckedRace
from hybrid_scheduler.training.environment import ENVIRONMENT_ID, RaceEnv
from hybrid_scheduler.training.environment.expected_times import ExpectedTimes
from hybrid_scheduler.workloads import WorkloadGenerator, write_csv

DOWN = Disturbance(0.0, "cpu_0", 0.0)
SEED = 11
SPLITS = (0.4, 0.75, 1.0)


class Replay(Scheduler):
    """Answers what was decided elsewhere, in the same order."""

    def __init__(self, decisions: list[Decision]) -> None:
        self.decisions = decisions

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return self.decisions[view.number]


def environment(situation: Situation, **arguments: Any) -> RaceEnv:
    return RaceEnv(world=situation.world, trace=situation.stream(60), **arguments)


def act_at_random(env: RaceEnv, seed: int = SEED) -> Iterator[tuple[Any, float, dict[str, Any], Decision]]:
    """Observation, reward, info and decision of every step of one episode."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed, options={"workload_seed": seed})
    over = False
    while not over:
        action = rng.integers(env.action_space.n)  # type: ignore[attr-defined]
        decision = env.decision_of(action)
        observation, reward, over, _, info = env.step(action)
        yield observation, reward, info, decision


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("prefix", ["", "hybrid_scheduler.training.environment:"])
def test_is_registered(prefix: str) -> None:
    env = gymnasium.make(prefix + ENVIRONMENT_ID, tasks=5)
    assert isinstance(env.unwrapped, RaceEnv)
    assert gymnasium.make_vec(ENVIRONMENT_ID, num_envs=2, tasks=5).reset(seed=1)[0].shape == (2, 28)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"reward": "finished", "energy_weight": 0.5, "fractions": (0.6, 0.8, 1.0)},
        {"weights": "time=1,energy=1,money=2", "gpus": 2},
        {"gpus": 2, "preset": "drift", "estimates": True, "ranked": False, "load": 1.5},
        {"world": World(SITUATIONS["unlike_devices"].world.cluster, Physics(noise=0.3, split="serial"))},
    ],
    ids=["default", "finished", "money", "estimates", "unlike"],
)
def test_both_checkers_are_content(arguments: dict[str, Any]) -> None:
    env = gymnasium.make(ENVIRONMENT_ID, tasks=50, **arguments)
    check_env(env.unwrapped)
    check_for_sb3(env.unwrapped)
    check_for_sb3(env)


@pytest.mark.parametrize("name", SITUATIONS)
def test_it_is_the_engine_of_the_race(name: str) -> None:
    """Driven by `mct` it gives what the compiled race gives for `mct`, bit for bit."""
    situation, policy = SITUATIONS[name], create_scheduler("mct")
    env = environment(situation, estimates=True)
    env.reset(options={"workload_seed": SEED})
    over = False
    while not over:
        over = env.step(env.action_of(policy.decide(env.task, env.view())))[2]
    race = Race(situation.stream(60), situation.world, seed=SEED)
    assert list(env.outcomes()) == list(race.run(create_scheduler("mct")))
    assert list(env.race().run(create_scheduler("mct"))) == list(env.outcomes())


@pytest.mark.parametrize("ranked", [True, False], ids=["ranked", "in_order"])
@pytest.mark.parametrize("name", SITUATIONS)
def test_any_action_is_a_legal_decision(name: str, ranked: bool) -> None:
    """Random actions, replayed as decisions in a judged race, give the same outcomes; all stays within bounds."""
    situation = SITUATIONS[name]
    env = environment(situation, fractions=SPLITS, ranked=ranked)
    decisions = []
    for observation, reward, _, decision in act_at_random(env):
        assert env.observation_space.contains(observation)
        assert np.isfinite(reward)
        decisions.append(decision)
    race = CheckedRace(situation.stream(60), situation.world, seed=SEED)
    assert list(env.outcomes()) == list(race.run(Replay(decisions)))


@pytest.mark.parametrize("weight", [0.0, 0.3])
@pytest.mark.parametrize("reward", ["projected", "finished"])
@pytest.mark.parametrize("name", SITUATIONS)
def test_rewards_add_up_to_the_cost_of_all_tasks(name: str, reward: str, weight: float) -> None:
    env = environment(SITUATIONS[name], fractions=SPLITS, energy_weight=weight, reward=reward)
    steps = list(act_at_random(env))
    outcomes = env.outcomes()
    cost = env.terms.costs(outcomes)
    assert sum(step[1] for step in steps) == pytest.approx(-cost.sum(), rel=1e-9)
    ran = ~outcomes.failed
    expected = (1 - weight) * outcomes.response_time / env.terms.second + weight * outcomes.energy / env.terms.joule
    assert cost[ran] == pytest.approx(expected[ran])
    assert np.all(cost[~ran] == 100.0)
    if reward == "finished":
        heard = np.concatenate([step[2]["response"] for step in steps])
        assert np.array_equal(np.sort(heard), np.sort(outcomes.response_time))


def test_pays_at_once_or_when_tasks_have_finished() -> None:
    projected, finished = RaceEnv(tasks=200), RaceEnv(tasks=200, reward="finished")
    at_once, later = list(act_at_random(projected)), list(act_at_random(finished))
    outcomes = projected.outcomes()
    rewards = [step[1] for step in at_once]
    assert rewards == [-cost for cost in projected.terms.costs(outcomes)]
    cost, ended = finished.terms.costs(outcomes), outcomes.finish_time
    for k in range(len(later) - 1):
        since, now = outcomes.arrival_time[k : k + 2]
        assert later[k][1] == pytest.approx(-cost[(ended > since) & (ended <= now)].sum())


def test_an_episode() -> None:
    env = RaceEnv(tasks=30)
    _, info = env.reset(seed=3)
    tasks = env.race().tasks
    assert info == {"task_id": 0}
    for k in range(30):
        _, _, terminated, truncated, info = env.step(k % 5)
        assert terminated == (k == 29)
        assert truncated is False
        assert info.get("task_id") == (None if terminated else k + 1)
    assert info["summary"] == summarise(env.outcomes())
    assert info["summary"]["avg_response"] == pytest.approx(env.outcomes().response_time.mean())
    env.reset()
    assert not np.array_equal(env.race().tasks.size, tasks.size)
    env.reset(seed=3)
    assert np.array_equal(env.race().tasks.size, tasks.size)
    env.reset(options={"workload_seed": 8})
    assert np.array_equal(env.race().tasks.size, WorkloadGenerator(8).generate("mixed", 30).size)


def test_same_seed_same_episode() -> None:
    arguments: dict[str, Any] = {"tasks": 60, "world": World(physics=Physics(noise=0.4)), "fractions": SPLITS}
    first, second = (list(act_at_random(RaceEnv(**arguments))) for _ in range(2))
    for (x, reward, *_), (again, same, *_) in zip(first, second, strict=True):
        assert np.array_equal(x, again)
        assert reward == same


def test_load_sets_the_arrivals() -> None:
    spans = {}
    for load in (0.5, 1.0):
        env = RaceEnv(load=load)
        env.reset(options={"workload_seed": 1})
        spans[load] = env.race().tasks.arrival_time[-1]
    assert spans[0.5] == pytest.approx(2 * spans[1.0])


def test_a_trace_from_a_file(tmp_path: Path) -> None:
    write_csv(tmp_path / "mine.csv", WorkloadGenerator(5).generate("uniform", 12, 3.0))
    env = RaceEnv(trace=tmp_path / "mine.csv")
    assert len(list(act_at_random(env))) == 12
    assert np.array_equal(env.race().tasks.size, WorkloadGenerator(5).generate("uniform", 12).size)


def test_ranked_devices_stand_in_order_of_expected_completion() -> None:
    env = RaceEnv(tasks=40, gpus=3)
    for _ in act_at_random(env):
        if env.outcomes().task_id[-1] == 39:
            break
        view = env.view()
        rows = [env.decision_of(action).parts[0] for action in range(1, 4)]
        due = [view.backlog[part.device] + part.expected for part in rows]
        assert due == sorted(due)
        assert {part.device for part in rows} == {1, 2, 3}


def test_masks_tell_what_is_down_or_does_not_fit() -> None:
    cluster = ClusterSpec.default(2, memory_per_gpu=100.0).with_disturbances([Disturbance(0.0, "gpu_0", 0.0)])
    big = Task(0, 900.0, 0.5, 160.0, 1.0)
    env = RaceEnv(
        world=World(cluster), trace=WorkloadGenerator(1).generate("mixed", 1), ranked=False, fractions=(0.5, 1.0)
    )
    env.reset()
    assert env.action_masks().tolist() == [True, False, False, True, True]
    env = RaceEnv(
        world=World(cluster), trace=type(env.race().tasks).from_tasks([big]), ranked=False, fractions=(0.5, 1.0)
    )
    env.reset()
    assert env.action_masks().tolist() == [True, False, False, True, False]
    assert env.decision_of(2).parts[0].device == 2, "gpu_1 stands in for gpu_0, which is down"
    env.step(4)
    assert env.outcomes()[0].gpu_id is None, "what does not fit falls back to the CPU"


def test_failing_does_not_pay() -> None:
    env = RaceEnv(world=World(ClusterSpec.default(1, 0.5), Physics(memory_policy="fail")), tasks=10)
    env.reset(seed=1)
    assert env.action_masks().tolist() == [True, False]
    assert env.step(1)[1] == -100.0


@pytest.mark.parametrize("name", ["default", "unlike_devices", "noise"])
def test_expected_times_are_learned_from_a_trial(name: str) -> None:
    """They come near the nominal times without having been told, whatever the devices; noise is smoothed out."""
    situation = SITUATIONS[name]
    draw = WorkloadGenerator(1).generate("mixed", 1500), WorkloadGenerator(2).generate("mixed", 500)
    learned = ExpectedTimes.tried(draw[0], situation.world, 0).times(draw[1])
    nominal = situation.world.timed(draw[1]).nominal
    error = np.abs(np.log(learned[:, SHARED] / nominal.sum(axis=1)))
    assert np.median(error) < (0.15 if situation.world.physics.noise else 0.03)


def test_where_money_counts_it_is_shown_and_paid() -> None:
    situation = SITUATIONS["unlike_devices"]
    env = environment(situation, weights="time=0.4,energy=0.2,money=0.4", ranked=False)
    observation, _ = env.reset(options={"workload_seed": SEED})
    devices = len(situation.world.cluster.devices)
    assert observation.shape == (3 + 6 * devices,)
    prices = situation.world.physics.busy_price(situation.world.cluster)
    order = np.argsort(situation.world.cluster.is_gpu, kind="stable")
    assert observation[3 + 5 :: 6] == pytest.approx(prices[order] / prices.max())
    steps = list(act_at_random(env))
    outcomes, terms = env.outcomes(), env.terms
    parts = (outcomes.response_time / terms.second, outcomes.energy / terms.joule, outcomes.cost / terms.dollar)
    expected = 0.4 * parts[0] + 0.2 * parts[1] + 0.4 * parts[2]
    assert sum(step[1] for step in steps) == pytest.approx(
        -expected[~outcomes.failed].sum() - 100 * outcomes.failed.sum()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fractions": ()}, "fractions are"),
        ({"fractions": (0.0, 1.0)}, "fractions are"),
        ({"energy_weight": 1.2}, "energy_weight is 1.2"),
        ({"weights": "money=-1"}, "money is -1"),
        ({"weights": "money=1", "energy_weight": 0.2}, "leave one out"),
        ({"reward": "finish"}, "did you mean 'finished'"),
        ({"preset": "mixd"}, "did you mean 'mixed'"),
        ({"load": -1.0}, "arrival_rate"),
        ({"tasks": 0}, "num_tasks"),
        ({"render_mode": "human"}, "nothing to render"),
        ({"trace": SITUATIONS["default"].stream(5), "load": 0.5}, "leave out load"),
        ({"world": World(ClusterSpec.default(0).with_disturbances([DOWN]))}, "nothing to decide"),
        ({"world": World(), "gpus": 2}, "world and gpus both describe the node"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        RaceEnv(**arguments).reset()


def test_bad_calls() -> None:
    env = RaceEnv(tasks=1)
    with pytest.raises(InvalidInputError, match="call reset first"):
        env.step(0)
    with pytest.raises(InvalidInputError, match="workload_seed"):
        env.reset(options={"workload_sed": 1})
    env.reset(seed=1)
    with pytest.raises(InvalidInputError, match="action is 5, but it must be from 0 to 4"):
        env.step(5)
    with pytest.raises(InvalidInputError, match="no action stands for"):
        env.action_of(Decision.split(1, 0, 0.5))
    env.step(0)
    for call in (lambda: env.step(0), env.view, env.action_masks):
        with pytest.raises(InvalidInputError, match="the episode is over"):
            call()


def test_stable_baselines_train_on_it() -> None:
    """Short runs, without a warning; `examples/gymnasium_agents` has the long ones."""
    env = gymnasium.make(ENVIRONMENT_ID, tasks=200)
    dqn = DQN("MlpPolicy", env, learning_starts=100, seed=1, device="cpu").learn(1500)
    ppo = PPO("MlpPolicy", env, n_steps=500, batch_size=100, seed=1, device="cpu").learn(1000)
    observation, _ = env.reset(seed=1)
    for model in (dqn, ppo):
        action, _ = model.predict(observation, deterministic=True)
        assert env.action_space.contains(action[()])
