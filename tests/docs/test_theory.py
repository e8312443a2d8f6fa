"""The figures of the theory chapters are those of formulas, code and simulator."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from page_figures import missing, unexplained

from hybrid_scheduler.learning.agent_layout import CONTEXT, OPTION, Layout, second_layer
from hybrid_scheduler.learning.dqn.network import BATCH, CAPACITY, FOLLOW
from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.physics.cost import MAX_SPEEDUP, gpu_speedup
from hybrid_scheduler.physics.device import PCIE_MB_PER_SECOND, ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.training.any_node import RACES, TASKS
from hybrid_scheduler.workloads.capacity import capacity

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "theory"
TABLE = re.compile(r"(?:^\|.+\|\n)+", re.MULTILINE)


def _rows(page: str, first: str) -> list[list[str]]:
    """The table whose head begins with this cell, less its head."""
    (table,) = (found for found in TABLE.findall(page) if found.startswith(f"| {first} |"))
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def _short(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}g}"


@pytest.fixture(scope="module")
def queues() -> str:
    return (FOLDER / "queues-and-amdahl.md").read_text("utf-8")


@pytest.fixture(scope="module")
def learning() -> str:
    return (FOLDER / "forests-and-q-learning.md").read_text("utf-8")


def test_waits_are_those_of_the_formula(queues: str) -> None:
    rows = _rows(queues, "load")
    assert len(rows) == 4
    for load, wait, response in ([float(cell) for cell in row] for row in rows):
        assert wait == pytest.approx(load / (1 - load))
        assert response == wait + 1


def test_speedups_are_those_of_the_code(queues: str) -> None:
    rows = _rows(queues, "I")
    assert len(rows) == 5
    for intensity, linear, amdahl in rows:
        assert [linear, amdahl] == [
            _short(float(gpu_speedup(np.array(float(intensity)), m))) for m in ("linear", "amdahl")
        ]


def test_the_onion_and_the_banquet(queues: str) -> None:
    node, rows = ClusterSpec.default(num_gpus=1), _rows(queues, "task")
    assert len(rows) == 2
    for what, *seconds in rows:
        size, intensity, memory = (float(x) for x in re.findall(r"(?:size|I =|,) (\d[\d.]*)", what))
        task = TaskBatch.from_tasks([Task(0, size=size, compute_intensity=intensity, memory_required=memory)])
        cpu, gpu = Physics().nominal_times(task, node).sum(axis=1)[0]
        moving = memory / PCIE_MB_PER_SECOND
        assert seconds == [f"{_short(value)} s" for value in (cpu, gpu - moving, moving, gpu)]


def _queue_facts() -> list[str]:
    orders = {"10, 11 and 13 seconds, on average ": (10, 1, 2), "1, 3 and 13 seconds, on average ": (1, 2, 10)}
    rate, share = capacity("mixed", World()), MAX_SPEEDUP / (1 + MAX_SPEEDUP)
    penalty = Physics().coexecution_penalty
    return [
        *(f"{words}{np.cumsum(tasks).mean():.2f}" for words, tasks in orders.items()),
        f"{rate:.1f} tasks per second, so `--load 0.6` means {0.6 * rate:.1f} tasks",
        f"At 29 tasks per second and a mean response of 0.2 seconds, {29 * 0.2:.1f} tasks",
        f"so the dish takes {2 + 8 / 4:g}: {10 / (2 + 8 / 4):g} times as fast",
        f"`1 + {MAX_SPEEDUP - 1:g} · I`",
        f"hardware that does that part {MAX_SPEEDUP:g} times as fast",
        f"{PCIE_MB_PER_SECOND:g} MB per second by default",
        f"At s = {MAX_SPEEDUP:g} that is {share:g}",
        f"with the {penalty:.0%} that both".replace("%", " %"),
        f"{(1 - share) * (1 + penalty):.2f} instead of {1 / MAX_SPEEDUP:.2f}",
    ]


def _learning_facts() -> list[str]:
    agent, forest = DQNScheduler(), HybridML()
    layout = Layout(1, 4, len(agent.fractions), agent.hidden)
    truth, said = np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 2.5])
    r2 = 1 - ((truth - said) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
    target = -1 + 0.9 * -2
    return [
        f"{forest.n_estimators} trees of at most {forest.max_depth} questions",
        f"(0.5 + 0 + 0.5) / 3 = {np.abs(truth - said).mean():.2f} seconds",
        f"1 − 0.5 / 2 = {r2:g}",
        f"−1 + 0.9 × (−2) = −{-target:g}",
        f"new estimate is −{-(-3 + 0.1 * (target + 3)):g}",
        f"γ = {agent.gamma:g}, the default",
        f"ten decisions later counts {agent.gamma**10:.1f} of one now",
        f"about {1 / (1 - agent.gamma):.0f} decisions matter",
        f"{CONTEXT} numbers about task, goals and node and {OPTION} about",
        f"two layers of {agent.hidden} and {second_layer(agent.hidden)} units",
        f"all {layout.options} options of the default node",
        f"a batch of {BATCH} remembered steps",
        f"practice, {RACES * TASKS} tasks on {RACES} nodes",
        f"{agent.training_epsilon:g} when training starts, {agent.epsilon:g} once trained",
        f"remembered, {CAPACITY} of them",
        f"{FOLLOW:g} of the difference with every step",
    ]


QUEUES_KNOWN = {
    "Each order takes 1 minute on average",
    "If 30 customers come in an hour",
    "*load* is 0.5",
    "since 1930",
    "M/M/1",
    "M/D/1",
    "From 0.8 to 0.9 the work",
    "at 60 or 80 % load and not at 20",
    "100000 tasks each",
    "at a load of 0.6 it gets",
    "they take 10, 1 and 2 seconds",
    "A recipe takes 10 minutes: 8 minutes",
    "and 2 minutes in the oven",
    "the chopping takes 2 minutes",
    "not 4 times",
    "more than 2.",
    "(1967)",
    "for 300 MB to move",
    "say 1 at I = 0 and 4 at I = 1",
}
LEARNING_KNOWN = {
    "size above 350",
    "intensity above 0.4",
    "grown on 3000 real labels",
    "The truth is 1, 2 and 3 seconds; the forest says 1.5, 2 and 2.5",
    "the mean of 2: its squared errors add up to 2, the forest's to 0.5",
    "1 is perfect, 0 is no better",
    "below 0 is worse",
    "(Watkins 1989)",
    "to GPU 2 would cost 3 altogether: Q = −3. It cost 1 (reward −1)",
    "if 2 more were to come",
    "With γ = 0.9",
    "a rate α of 0.1",
    "With γ = 0 only",
    "at a load of 0.6",
}
"""Numbers of the stories, of which the facts above are worked out; names and years."""


@pytest.mark.parametrize(
    ("page", "facts", "known"),
    [("queues", _queue_facts, QUEUES_KNOWN), ("learning", _learning_facts, LEARNING_KNOWN)],
)
def test_every_figure_is_checked(
    page: str, facts: Callable[[], list[str]], known: set[str], request: pytest.FixtureRequest
) -> None:
    text, said = request.getfixturevalue(page), facts()
    assert missing(text, said) == []
    assert missing(text, known) == []
    assert unexplained(TABLE.sub("", text), [*said, *known]) == []


def test_the_pictures_are_there() -> None:
    text = "".join(page.read_text("utf-8") for page in FOLDER.glob("*.md"))
    named = re.findall(r"\.\./pictures/theory/([\w.-]+)", text)
    assert sorted(named) == sorted(file.name for file in (FOLDER.parent / "pictures" / "theory").iterdir())
