"""Training for any node: other nodes, loads and goals with every race, the same bits from the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hybrid_scheduler.model.objective import Objective
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.training.any_node import DEFAULT_EVERY, SEED, lessons, train_on_nodes
from hybrid_scheduler.training.pretrained import load_pretrained


def test_lessons_are_of_all_kinds() -> None:
    found = list(lessons(races=2 * DEFAULT_EVERY, tasks=20))
    assert [number for number, lesson in enumerate(found) if lesson.world == World()] == [0, DEFAULT_EVERY]
    assert len({len(lesson.world.cluster.devices) for lesson in found}) > 3
    assert 0 < sum(lesson.goals == Objective(1.0, 0.0, 0.0) for lesson in found) < len(found)
    assert {lesson.seed for lesson in found} == set(range(SEED, SEED + 2 * DEFAULT_EVERY))
    assert all(len(lesson.tasks) == 20 for lesson in found)


def test_the_same_seed_gives_the_same_agent(tmp_path: Path) -> None:
    agents = []
    for number in range(2):
        agent = DQNScheduler(energy_weight=0.25, hidden=8, seed=3, pretrained=False)
        train_on_nodes(agent, races=4, tasks=120, seed=7)
        agent.save_model(tmp_path / f"{number}.pth", replay=False)
        agents.append(agent)
    assert np.array_equal(agents[0].kernel_state(), agents[1].kernel_state())
    assert agents[0].goals == Objective(0.75, 0.25, 0.0)
    assert (tmp_path / "0.pth").read_bytes() == (tmp_path / "1.pth").read_bytes()
    assert agents[0].updates > 300


def test_the_packaged_agent_comes_from_such_a_training() -> None:
    agent = DQNScheduler()
    assert load_pretrained(agent, World())
    assert agent.updates > 450_000
