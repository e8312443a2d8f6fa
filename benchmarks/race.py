"""How fast a race with learners is, against the obvious way of writing them.

    python benchmarks/race.py [--tasks 4000]

Both ways race the same six schedulers on the same tasks in one process, taking turns, all learning on: one gradient
step per task, a refresh of the forest every 50 tasks. The obvious way: scikit-learn's `predict` on a one-row data frame
for every decision, a full refit on the last 1000 rows every 50 tasks, an eager PyTorch forward pass per decision, and a
gradient step on a batch gathered from a list of transitions. Tasks per second are tasks through all six schedulers.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections import deque

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import RandomForestRegressor

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import ClusterView, Decision, Label, LabelBatch, Outcome, Task
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import RecordedTasks, Scenario
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

PLAIN = ("round_robin", "random", "greedy", "oracle")
FEATURES = ["size", "intensity", "memory", "memory_per_size", "intensity_per_memory"]


def features(task: Task) -> list[float]:
    memory = max(task.memory_required, 1e-9)
    return [task.size, task.compute_intensity, memory, memory / task.size, task.compute_intensity / memory]


class ObviousForest(Scheduler):
    """The forest, written the obvious way."""

    def __init__(self, labels: LabelBatch | None = None) -> None:
        self.labels = labels
        self.model = RandomForestRegressor(n_estimators=100, max_depth=15, random_state=0)
        rows = list(labels or [])
        self.x = deque([features(label.task) for label in rows], maxlen=1000)
        self.y = deque([label.seconds for label in rows], maxlen=1000)
        self.count = self.refits = 0
        self.refit()

    def refit(self) -> None:
        self.model.fit(pd.DataFrame(list(self.x), columns=FEATURES), np.array(self.y))

    def decide(self, task: Task, view: ClusterView) -> Decision:
        seconds = self.model.predict(pd.DataFrame([features(task)], columns=FEATURES))[0]
        best = int(np.argmin(view.backlog + seconds))
        return Decision.whole(best, float(seconds[best]))

    def teach(self, label: Label) -> None:
        self.x.append(features(label.task))
        self.y.append(label.seconds)
        self.count += 1
        if self.count % 50 == 0:
            self.refit()
            self.refits += 1


class ObviousAgent(Scheduler):
    """The deep Q-network, written the obvious way."""

    def __init__(self) -> None:
        def network() -> torch.nn.Module:
            layers = torch.nn
            return layers.Sequential(
                layers.Linear(8, 256), layers.ReLU(), layers.Linear(256, 256), layers.ReLU(), layers.Linear(256, 5)
            )

        self.online, self.target = network(), network()
        self.optimiser = torch.optim.Adam(self.online.parameters(), lr=1e-3)
        self.replay: deque[tuple[list[float], int, float, list[float]]] = deque(maxlen=50_000)
        self.pending: dict[int, tuple[list[float], int]] = {}
        self.last: list[float] = [0.0] * 8
        self.updates = 0

    def decide(self, task: Task, view: ClusterView) -> Decision:
        state = [task.size / 5000, task.compute_intensity, task.memory_required / 500, *view.backlog.tolist()]
        with torch.no_grad():
            action = int(self.online(torch.tensor([state])).argmax())
        self.pending[task.task_id] = (state, action)
        self.last = state
        return Decision.whole(action)

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        state, action = self.pending.pop(outcome.task_id)
        self.replay.append((state, action, -outcome.response_time, self.last))
        if len(self.replay) < 64:
            return
        states, actions, rewards, following = zip(*random.sample(self.replay, 64), strict=True)
        value = self.online(torch.tensor(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.online(torch.tensor(following)).argmax(1, keepdim=True)
            wanted = torch.tensor(rewards) + 0.95 * self.target(torch.tensor(following)).gather(1, best).squeeze(1)
        loss = torch.nn.functional.smooth_l1_loss(value, wanted)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.updates += 1
        if self.updates % 50 == 0:
            self.target.load_state_dict(self.online.state_dict())


def seconds_for(race: Race, schedulers: list[Scheduler]) -> dict[str, float]:
    """Wall seconds of each scheduler's race."""
    taken = {}
    for scheduler in schedulers:
        start = time.perf_counter()
        race.run(scheduler)
        taken[type(scheduler).__name__] = time.perf_counter() - start
    return taken


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=4000)
    count = parser.parse_args().tasks
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    world = World()
    rate = 0.6 * capacity("mixed", world)
    training = WorkloadGenerator(99).generate("mixed", 1000, rate)
    labels = world.timed(training).labels()
    trained_on = Scenario(RecordedTasks(training), world, seed=99)
    race = Race(WorkloadGenerator(1).generate("mixed", count, rate))
    short = Race(WorkloadGenerator(1).generate("mixed", max(200, count // 10), rate))

    def learners() -> list[Scheduler]:
        found = [create_scheduler("hybrid_ml", 1), create_scheduler("rl_agent", 1, energy_weight=0.0)]
        for each in found:
            train_scheduler(each, trained_on)
        return found

    def ours() -> list[Scheduler]:
        return [*(create_scheduler(name) for name in PLAIN), *learners()]

    def obvious() -> list[Scheduler]:
        return [*(create_scheduler(name) for name in PLAIN), ObviousForest(labels), ObviousAgent()]

    seconds_for(short, ours())  # compile outside the clock
    ways: dict[str, list[float]] = {"ours": [], "obvious": []}
    for _ in range(2):
        mine = ours()
        before = {type(s).__name__: (getattr(s, "updates", 0), getattr(s, "refit_checks", 0)) for s in mine}
        taken = seconds_for(race, mine)
        ways["ours"].append(count / sum(taken.values()))
        ways["obvious"].append(len(short.tasks) / sum(seconds_for(short, obvious()).values()))
        print("  ours, ms per task: " + ", ".join(f"{n} {s / count * 1e3:.3f}" for n, s in taken.items()))
    updates = max(getattr(s, "updates", 0) - before[type(s).__name__][0] for s in mine)
    checks = max(getattr(s, "refit_checks", 0) - before[type(s).__name__][1] for s in mine)
    best = {name: max(rates) for name, rates in ways.items()}
    print(f"six schedulers, all learning on, {count} tasks, best of 2, interleaved")
    learned = f"updates {updates / count:.3f} a task, refreshes {checks} ({count // 50} wanted)"
    print(f"  ours    {best['ours']:>8.0f} tasks/s   {learned}")
    print(f"  obvious {best['obvious']:>8.0f} tasks/s   ratio {best['ours'] / best['obvious']:.1f}x")
    quiet = ours()
    quiet[-1].learning = False  # type: ignore[attr-defined]
    still = create_scheduler("static_forest", 1)
    train_scheduler(still, trained_on)
    quiet[-2] = still
    long = Race(WorkloadGenerator(1).generate("mixed", 20_000, rate))
    seconds_for(short, quiet)
    alone = seconds_for(long, quiet)
    print(f"decisions alone: {20_000 / sum(alone.values()):.0f} tasks/s")
    print("  us per task: " + ", ".join(f"{n} {s / 20_000 * 1e6:.2f}" for n, s in alone.items()))


if __name__ == "__main__":
    main()
