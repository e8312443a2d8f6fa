"""One episode: a stream of tasks on a simulated node that waits for somebody's decisions, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.node import SimulatedNode, UnlabelledTasks
from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.learning.actions import action_count, expect_completion, rank_devices
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.device_columns import PRICE
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.node import Change
from hybrid_scheduler.model.objective import Objective
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, IntArray, Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.training.environment.encoding import (
    DEVICE_INPUTS,
    TASK_INPUTS,
    Placing,
    write_decision,
    write_mask,
    write_observation,
)
from hybrid_scheduler.training.environment.expected_times import ExpectedTimes, log_features

FAILURE_COST = 100.0
"""What a task that fails costs, in usual tasks: otherwise failing, which takes no time, would be the best policy."""


@dataclass(frozen=True)
class Terms:
    """What stays the same from episode to episode.

    Attributes:
        world: The devices and how they behave.
        expected: How long the agent's side expects tasks to take.
        fractions: GPU shares to choose from, ascending.
        goals: What counts.
        finished: Tasks are paid for when they have finished, not when they are placed.
        estimates: Nominal times take the place of the expected ones.
        ranked: Devices of a kind stand in order of expected completion.
        second: The unit of times.
        joule: The unit of energy.
        dollar: The unit of money.
    """

    world: World
    expected: ExpectedTimes
    fractions: FloatArray
    goals: Objective
    finished: bool
    estimates: bool
    ranked: bool
    second: float
    joule: float
    dollar: float

    @property
    def cpus(self) -> int:
        """Number of CPUs; their actions come first."""
        return int((~self.world.cluster.is_gpu).sum())

    @property
    def actions(self) -> int:
        """Every CPU, and every GPU with every fraction."""
        return action_count(self.cpus, len(self.world.cluster.devices) - self.cpus, len(self.fractions))

    @property
    def inputs(self) -> int:
        """Length of an observation."""
        return TASK_INPUTS + self.device_inputs * len(self.world.cluster.devices)

    @property
    def device_inputs(self) -> int:
        """Places per device: its price is shown when money counts."""
        return DEVICE_INPUTS + (self.goals.money > 0.0)

    def costs(self, outcomes: OutcomeBatch) -> FloatArray:
        """What each task costs whoever placed it."""
        time, energy = outcomes.response_time / self.second, outcomes.energy / self.joule
        cost = self.goals.time * time + self.goals.energy * energy
        if self.goals.money > 0.0:
            cost = cost + self.goals.money * (outcomes.cost / self.dollar)
        return np.where(outcomes.failed, FAILURE_COST, cost)


class _Agent(Scheduler):
    """The agent, as the node knows it; it stands outside and answers between two questions."""

    def __init__(self, observes: bool) -> None:
        self._observes = observes

    @property
    def observes(self) -> bool:
        """Whether tasks are paid for when they have finished."""
        return self._observes

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Never asked: `Episode.place` answers."""
        raise InvalidInputError("the agent stands outside; call Episode.place")


class _EstimatingAgent(_Agent):
    """One whose node shows nominal times."""

    uses_estimates = True


class _AgentDriver(Driver[SimulatedNode]):
    """Notes which tasks have finished, for the agent to be charged."""

    def __init__(self, agent: _Agent, node: SimulatedNode) -> None:
        super().__init__(agent, node)
        self._finished: list[IntArray] = []

    def deliver(self) -> None:
        self._finished.append(self.node.take_outcomes(self.node.now))

    def take_finished(self) -> IntArray:
        """The tasks that have finished since the last call."""
        finished, self._finished = self._finished, []
        return np.concatenate(finished) if finished else np.zeros(0, dtype=np.int64)


class Episode:
    """A node with its stream of tasks, standing at the next decision; `over` when there is none.

    Args:
        terms: What stays the same from episode to episode.
        tasks: The stream.
        seed: Seed of the noise.
    """

    def __init__(self, terms: Terms, tasks: TaskBatch, seed: int) -> None:
        self.terms, self.tasks = terms, tasks
        timed, cluster = terms.world.timed(tasks, seed), terms.world.cluster
        self._times = timed.nominal if terms.estimates else terms.expected.times(tasks)
        self._features = (log_features(tasks) - terms.expected.mean) / terms.expected.deviation
        agent = (_EstimatingAgent if terms.estimates else _Agent)(terms.finished)
        self._node = simulated_node(agent, UnlabelledTasks(tasks), terms.world)
        self._driver = _AgentDriver(agent, self._node)
        self._node.add(timed)
        self._charged = np.zeros(len(tasks))
        self._cpus, self._most_watts = terms.cpus, max(cluster.column("watts").max(), 1e-9)
        self._highest_price = max(terms.world.public_table()[:, PRICE].max(), 1e-12)
        self._order = np.argsort(cluster.is_gpu, kind="stable")
        self._completion, self._out = np.zeros(len(self._order)), np.zeros((2, 3))
        self.over = False
        self._go_on()

    @property
    def position(self) -> int:
        """Position of the task at hand in the stream.

        Raises:
            InvalidInputError: There is none.
        """
        self._refuse_when_over()
        return self._node.current

    @property
    def task(self) -> Task:
        """The task at hand."""
        task: Task = self.tasks[self.position]
        return task

    def view(self) -> ClusterView:
        """What a scheduler would see now."""
        self._refuse_when_over()
        return self._node.view()

    def outcomes(self) -> OutcomeBatch:
        """What came of the tasks placed so far."""
        return self._node.outcomes()

    def observe(self) -> NDArray[np.float32]:
        """What the agent sees; nothing but zeros when the episode is over."""
        x = np.zeros(self.terms.inputs, dtype=np.float32)
        if not self.over:
            task, devices = self._node.current, self._node.devices
            write_observation(
                devices,
                self._features[task],
                self._expected(task),
                self._order,
                self.terms.second,
                self._most_watts,
                self._highest_price,
                self.terms.device_inputs,
                x,
            )
        return x

    def _expected(self, position: int) -> FloatArray:
        """Seconds expected of a task; as estimates tell it, the data of its parents is in them."""
        if self.terms.estimates and self._node.handed(position):
            return self._node.times(position)
        times: FloatArray = self._times[position]
        return times

    def decision_of(self, action: int) -> Decision:
        """What an action means for the task at hand."""
        parts = write_decision(action, self._placing(self.position))
        return Decision(tuple(Part(int(d), share, expected) for d, share, expected in self._out[:parts].tolist()))

    def mask(self) -> NDArray[np.bool_]:
        """For each action, whether it can be carried out as it stands."""
        task, mask = self.position, np.zeros(self.terms.actions, dtype=np.bool_)
        write_mask(self.tasks.memory_required[task], self._placing(task), mask)
        return mask

    def _placing(self, task: int) -> Placing:
        node, times = self._node, self._expected(task)
        facts = self.terms.fractions, node.devices, node.facts, times
        return *facts, self._order, self._cpus, self._completion, self._out

    def place(self, action: int) -> tuple[float, FloatArray]:
        """Carry out an action and go on to the next decision; returns what is to be paid, and for which responses."""
        placed = self.position
        self._node.answer(self.decision_of(action))
        finished = self._go_on()
        if self.terms.finished:
            return self._charge(finished)
        if self.over or self.terms.goals.time < 1.0:
            return self._charge(np.array([placed]))
        # The same without a batch of one: most of the time of a step would go into it.
        response, failed = self._node.response_of(placed)
        cost = FAILURE_COST if failed else response / self.terms.second
        paid = cost - float(self._charged[placed])
        self._charged[placed] = cost
        return paid, np.array([response])

    def _refuse_when_over(self) -> None:
        if self.over:
            raise InvalidInputError("the episode is over, every task is decided; call reset")

    def _go_on(self) -> IntArray:
        """Let time go on to the next decision; returns the tasks that have finished, if anybody waits for them."""
        node = self._node
        self.over = self._driver.next_question() is Change.OVER
        finished = self._driver.take_finished()
        if self.over:
            finished = np.concatenate([finished, node.take_outcomes(np.inf)])
        else:
            expect_completion(node.devices, self._expected(node.current), self._completion)
            if self.terms.ranked:
                rank_devices(node.devices, self._completion, self._order)
        return finished

    def _charge(self, positions: IntArray) -> tuple[float, FloatArray]:
        """Charge these tasks; at the end also whatever disturbances have added to the others since."""
        outcomes = self._node.outcomes(positions)
        if self.over:
            costs = self.terms.costs(self._node.outcomes())
            paid = float((costs - self._charged).sum())
        else:
            costs = self.terms.costs(outcomes)
            paid = float((costs - self._charged[positions]).sum())
            self._charged[positions] = costs
        return paid, outcomes.response_time
