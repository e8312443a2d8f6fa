"""The deep Q-network that learns while it works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any

from hybrid_scheduler.learning.agent_file import read_agent, summary_writer, write_agent
from hybrid_scheduler.learning.agent_layout import MAX_FRACTIONS, Layout
from hybrid_scheduler.learning.dqn.agent import Agent, AgentOptions
from hybrid_scheduler.learning.dqn.network import CAPACITY
from hybrid_scheduler.learning.dqn.policy import act, same_devices
from hybrid_scheduler.learning.packaged import FOLDER
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError
from hybrid_scheduler.model.objective import ARGUMENTS, BALANCED, Objective, Weights
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.ranges import within
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import Explanation, Kernel, RaceLearner, kernel

LOG_EVERY = 100
"""Gradient steps between two entries in the TensorBoard log."""
PACKAGED = FOLDER / "rl_agent.pth"
MOST_DEVICES = 4096
"""Of a kind, that an agent in a file may be made for."""


class DQNScheduler(RaceLearner):
    """Learns by trial which device and share pays off in the long run: a dueling double deep Q-network.

    Options: a CPU, or a GPU with one of a few fractions. One small network scores every option by ratios of times,
    queues and costs, so that what was learned fits any node and any objective. Reward: minus the response time over its
    mean; energy and money are known at once. The next state is the next arrival, so the price of a queue left to others
    is learned (`learning.dqn.network`). How fast the devices of a node are is learned from its own outcomes
    (`learning.device_times`).

    Args:
        energy_weight: 0 cares for time only, 1 for energy only; 0.5 unless `weights` are given.
        fractions: GPU shares to choose from; `(1.0,)` for plain devices.
        hidden: Units of the first hidden layer; the second has half as many.
        gamma: Discount per decision; 0 looks no further than the task at hand.
        learning_rate: Of the optimiser.
        epsilon: Share of exploring decisions once trained.
        training_epsilon: Share of exploring decisions when training starts; it falls to a tenth by half-time.
        learning: Whether it goes on learning.
        use_backlog: Whether the state shows the queues (for ablations).
        use_target: Whether a delayed target network is used (for ablations).
        count_waiting: Whether the reward counts the time a task waits, as its user does, or its execution alone (for
            ablations).
        log_dir: Folder for TensorBoard event files (extra `tensorboard`); none by default.
        seed: Of weights, sampling and exploration.
        weights: Instead of `energy_weight`: how much time, energy and money count (`model.objective`).
        pretrained: Whether training on a node goes on from the packaged network, where it has the same sizes; it begins
            with nothing otherwise.
    """

    kernel = kernel(act.py_func)
    ranks_tasks = True
    objective = ARGUMENTS
    model_suffix = ".pth"

    def __init__(
        self,
        energy_weight: float | None = None,
        fractions: tuple[float, ...] = (0.6, 0.8, 1.0),
        hidden: int = 64,
        gamma: float = 0.97,
        learning_rate: float = 1e-3,
        epsilon: float = 0.002,
        training_epsilon: float = 0.1,
        learning: bool = True,
        use_backlog: bool = True,
        use_target: bool = True,
        count_waiting: bool = True,
        log_dir: str | None = None,
        seed: int = 0,
        weights: Weights | None = None,
        pretrained: bool = True,
    ) -> None:
        if find_spec("torch") is None:
            raise MissingExtraError("rl_agent", "PyTorch", "learning")
        self.goals = Objective.chosen(weights, energy_weight) or BALANCED
        self.energy_weight = self.goals.energy if weights is None else None
        self.weights = None if weights is None else self.goals.to_json()
        self._set_sizes(fractions, hidden)
        self.gamma = within("gamma", gamma, 0.0, 0.9999)
        self.learning_rate = within("learning_rate", learning_rate, 1e-9, 1.0)
        self.epsilon = within("epsilon", epsilon, 0.0, 1.0)
        self.training_epsilon = within("training_epsilon", training_epsilon, 0.0, 1.0)
        self.learning = learning
        self.use_backlog, self.use_target, self.count_waiting = use_backlog, use_target, count_waiting
        self.log_dir = log_dir
        self.seed = seed
        self.pretrained = pretrained
        self._agent: Agent | None = None
        self._training = 0
        self._capacity = CAPACITY
        self._writer: Any = None

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Take the action of the highest value, or explore."""
        return self._meet(view).decide(task, view, self.learning)

    @property
    def plans(self) -> bool:
        """The compiled policy must fit the node before it is asked; Python looks at the node with every decision."""
        return not self.learning

    def prepare(self, tasks: Sequence[Task], view: ClusterView) -> None:
        """Look at the node."""
        self._meet(view)

    def expected_seconds(self, tasks: TaskBatch, view: ClusterView) -> FloatArray:
        """What its second head expects on the device where that is least; all alike as long as it knows no node."""
        if self._agent is None:
            return super().expected_seconds(tasks, view)
        return self._meet(view).shortest_seconds(tasks, view)

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The times its second head expects."""
        return Explanation(*self._meet(view).explain(task, view))

    def figures(self) -> dict[str, float | None]:
        """Loss of the last step, exploration, mean reward lately."""
        if self._agent is None:
            return {}
        loss = self._agent.deep.loss
        return {
            "loss": None if isnan(loss) else loss,
            "epsilon": self._agent.exploration,
            "reward": self._agent.means.reward,
        }

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Learn from a finished task."""
        if self._agent is None or not self.learning:
            return
        self._agent.learn(task, decision, outcome)
        if self.log_dir is not None and self.updates < self._agent.deep.updates and self.updates % LOG_EVERY == 0:
            self._log(self.log_dir, self._agent)
        self.updates = self._agent.deep.updates

    @property
    def drifts(self) -> int:
        """How often it noticed that the world has changed."""
        return 0 if self._agent is None else self._agent.drift.alarms

    @property
    def observes(self) -> bool:
        """Outcomes are wanted only while it learns."""
        return self.learning

    def active_kernel(self) -> Kernel | None:
        """Compiled only while nothing is learned: learning needs to remember every decision."""
        return None if self.learning or self._agent is None else type(self).kernel

    def kernel_state(self) -> FloatArray:
        """The flat array the compiled policy acts on."""
        return super().kernel_state() if self._agent is None else self._agent.params

    def begin_training(self, tasks: int, remembered: int = CAPACITY) -> None:
        """Explore more, and let the learning rate fall, over so many tasks.

        One that has learned nothing yet goes on from the packaged network, if it may (`pretrained`).

        Args:
            tasks: How many.
            remembered: Transitions remembered by an agent that has not met a node yet.
        """
        self._training, self._capacity = tasks, remembered
        if self._agent is None and self.pretrained and self._has_packaged_sizes():
            self.load_model(PACKAGED)
        if self._agent is not None:
            self._agent.begin_training(tasks)

    def begin_node(self, goals: Objective) -> None:
        """In training: the next race is on another node, and these goals count there."""
        self.goals = goals
        if self._agent is not None:
            self._agent.enter(self._agent.layout)
            self._agent.care_for(goals)

    def doubt_node(self) -> None:
        """Take what is known of this node for a first guess from now on."""
        if self._agent is not None:
            self._agent.doubt_node()

    def keep_weights(self) -> None:
        """In training: let the present weights of the value network count in `average_weights`."""
        if self._agent is not None:
            self._agent.deep.values.keep()

    def average_weights(self) -> None:
        """In training: go on with the mean of the weights kept, which is steadier than the last of them."""
        if self._agent is not None:
            self._agent.deep.average()

    def end_training(self) -> None:
        """Explore little from now on."""
        self._training = 0
        if self._agent is not None:
            self._agent.end_training()

    def pretrain(self, race: Any) -> None:
        """Train on all tasks of a race (anything with `tasks` and `run(scheduler)`)."""
        self.begin_training(len(race.tasks))
        race.run(self)
        self.end_training()

    def packaged_model(self, view: ClusterView) -> Path | None:
        """A small agent for every node and every objective."""
        return PACKAGED

    def save_model(self, path: str | Path, *, replay: bool = True) -> None:
        """Write a `.pth` file; without the replay it is small, but learning goes on without past transitions.

        Args:
            path: The file.
            replay: Whether to keep the past transitions.

        Raises:
            InvalidInputError: There is nothing to save yet.
        """
        if self._agent is None:
            raise InvalidInputError(
                "the agent has not met a node yet, so there is nothing to save; let it decide first"
            )
        layout = self._agent.layout
        sizes = {"cpus": layout.cpus, "gpus": layout.gpus, "hidden": layout.hidden, "fractions": list(self.fractions)}
        write_agent(path, {"sizes": sizes, "agent": self._agent.state(replay)})

    def load_model(self, path: str | Path) -> None:
        """Continue from a `.pth` file; its fractions and layer sizes replace this agent's.

        On another node than the file's it keeps all but what is known of devices.
        """
        contents = read_agent(path)
        try:
            sizes = contents["sizes"]
            self._set_sizes(sizes["fractions"], sizes["hidden"])
            cpus, gpus = (int(within(kind, sizes[kind], 0, MOST_DEVICES)) for kind in ("cpus", "gpus"))
            agent = self._build(cpus, gpus)
            agent.restore(contents["agent"])
        except Exception as error:  # whatever can be wrong with figures and tensors from anywhere
            raise InvalidInputError(f"{path} is damaged or incomplete ({error!r}); train it again") from error
        self._agent, self.updates = agent, agent.deep.updates

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_writer": None}  # a copy opens a log of its own

    def _meet(self, view: ClusterView) -> Agent:
        """See which devices there are; on another node than before, forget those of before."""
        agent = self._agent
        if agent is not None and agent.table is not None and same_devices(agent.table, view.devices):
            agent.meet(view)
            return agent
        gpus = int((view.kind == "gpu").sum())
        cpus = len(view.devices) - gpus
        if agent is None:
            agent = self._agent = self._build(cpus, gpus)
            if self._training:
                agent.begin_training(self._training)
        if agent.table is not None or (cpus, gpus) != (agent.layout.cpus, agent.layout.gpus):
            agent.enter(replace(agent.layout, cpus=cpus, gpus=gpus))
        agent.meet(view)
        return agent

    def _has_packaged_sizes(self) -> bool:
        sizes = read_agent(PACKAGED)["sizes"]
        return (self.hidden, self.fractions) == (sizes["hidden"], tuple(sizes["fractions"]))

    def _set_sizes(self, fractions: Sequence[float], hidden: int) -> None:
        self.fractions = tuple(sorted(float(f) for f in fractions))
        if not (1 <= len(self.fractions) <= MAX_FRACTIONS and self.fractions[0] > 0 and self.fractions[-1] <= 1):
            raise InvalidInputError(
                f"fractions are {list(fractions)}, but there must be 1 to {MAX_FRACTIONS} of them, above 0, at most 1"
            )
        self.hidden = int(within("hidden", hidden, 1, 4096))

    def _build(self, cpus: int, gpus: int) -> Agent:
        options = AgentOptions(
            self.goals,
            self.fractions,
            self.gamma,
            self.learning_rate,
            self.epsilon,
            self.training_epsilon,
            self.use_backlog,
            self.use_target,
            self.count_waiting,
            self.seed,
            self._capacity,
        )
        return Agent(Layout(cpus, gpus, len(self.fractions), self.hidden), options)

    def _log(self, folder: str, agent: Agent) -> None:
        if self._writer is None:
            self._writer = summary_writer(folder)
        figures = {
            "loss": agent.deep.loss,
            "epsilon": agent.exploration,
            "reward": agent.means.reward,
            "mean_response": agent.means.response,
            "mean_energy": agent.means.energy,
            "mean_cost": agent.means.money,
        }
        for name, figure in figures.items():
            self._writer.add_scalar(name, figure, self.updates)
        self._writer.flush()  # nobody says when the last entry has been made
