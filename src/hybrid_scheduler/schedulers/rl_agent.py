"""The deep Q-network that learns while it works."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any

from hybrid_scheduler.learning.agent_file import read_agent, summary_writer, write_agent
from hybrid_scheduler.learning.dqn.agent import Agent, AgentOptions
from hybrid_scheduler.learning.dqn.policy import MAX_FRACTIONS, Layout, act
from hybrid_scheduler.learning.packaged import packaged_file
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError
from hybrid_scheduler.model.objective import ARGUMENTS, BALANCED, Objective, Weights
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import Explanation, Kernel, RaceLearner, kernel

LOG_EVERY = 100
"""Gradient steps between two entries in the TensorBoard log."""
MOST_DEVICES = 4096
"""Of a kind, that an agent in a file may be made for."""


class DQNScheduler(RaceLearner):
    """Learns by trial which device and share pays off in the long run: a dueling double deep Q-network.

    State: the task, and backlog and expected time of every device, devices ranked by expected completion. Actions: a
    CPU, or a GPU with one of a few fractions. Reward: minus the weighted response time, energy and money, each over its
    mean. The next state is the next arrival, so the price of a queue left to others is learned
    (`learning.dqn.network`).

    Args:
        energy_weight: 0 cares for time only, 1 for energy only; 0.5 unless `weights` are given.
        fractions: GPU shares to choose from; `(1.0,)` for plain devices.
        hidden: Units of each of the two hidden layers.
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
    """

    kernel = kernel(act.py_func)
    objective = ARGUMENTS
    model_suffix = ".pth"

    def __init__(
        self,
        energy_weight: float | None = None,
        fractions: tuple[float, ...] = (0.6, 0.8, 1.0),
        hidden: int = 256,
        gamma: float = 0.95,
        learning_rate: float = 2.5e-4,
        epsilon: float = 0.002,
        training_epsilon: float = 0.1,
        learning: bool = True,
        use_backlog: bool = True,
        use_target: bool = True,
        count_waiting: bool = True,
        log_dir: str | None = None,
        seed: int = 0,
        weights: Weights | None = None,
    ) -> None:
        if find_spec("torch") is None:
            raise MissingExtraError("rl_agent", "PyTorch", "learning")
        self.goals = Objective.chosen(weights, energy_weight) or BALANCED
        self.energy_weight = self.goals.energy if weights is None else None
        self.weights = None if weights is None else self.goals.to_json()
        self._set_sizes(fractions, hidden)
        self.gamma = _within("gamma", gamma, 0.0, 0.9999)
        self.learning_rate = _within("learning_rate", learning_rate, 1e-9, 1.0)
        self.epsilon = _within("epsilon", epsilon, 0.0, 1.0)
        self.training_epsilon = _within("training_epsilon", training_epsilon, 0.0, 1.0)
        self.learning = learning
        self.use_backlog, self.use_target, self.count_waiting = use_backlog, use_target, count_waiting
        self.log_dir = log_dir
        self.seed = seed
        self._agent: Agent | None = None
        self._training = 0
        self._writer: Any = None

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Take the action of the highest value, or explore."""
        return self._meet(view).decide(task, view, self.learning)

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

    def begin_training(self, tasks: int) -> None:
        """Explore more, and let the learning rate fall, over so many tasks."""
        self._training = tasks
        if self._agent is not None:
            self._agent.begin_training(tasks)

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
        """A small agent for the default node."""
        return packaged_file("rl_agent.pth", view)

    def loaded_note(self) -> str:
        """That the model was trained for something else, where it was."""
        if self._agent is None or self._agent.trained_for == self.goals:
            return ""
        return (
            f"its model was trained for {self._agent.trained_for}; for {self.goals} it keeps what it knows of times "
            "and learns the rest on the way"
        )

    def save_model(self, path: str | Path, *, replay: bool = True) -> None:
        """Write a `.pth` file; without the replay it is small, but learning goes on without past transitions.

        Raises:
            InvalidInputError: There is nothing to save yet.
        """
        if self._agent is None:
            raise InvalidInputError(
                "the agent has not met a node yet, so there is nothing to save; let it decide first"
            )
        layout = self._agent.layout
        node = {"cpus": layout.cpus, "gpus": layout.gpus, "hidden": layout.hidden, "fractions": list(self.fractions)}
        write_agent(path, {"node": node, "agent": self._agent.state(replay)})

    def load_model(self, path: str | Path) -> None:
        """Continue from a `.pth` file; its fractions and layer sizes replace this agent's."""
        contents = read_agent(path)
        try:
            node = contents["node"]
            self._set_sizes(node["fractions"], node["hidden"])
            cpus, gpus = (int(_within(kind, node[kind], 0, MOST_DEVICES)) for kind in ("cpus", "gpus"))
            agent = self._build(cpus, gpus)
            agent.restore(contents["agent"])
        except Exception as error:  # whatever can be wrong with figures and tensors from anywhere
            raise InvalidInputError(f"{path} is damaged or incomplete ({error!r}); train it again") from error
        self._agent, self.updates = agent, agent.deep.updates

    def check_devices(self, count: int) -> None:
        """Refuse a node with another number of devices than the one it was made for."""
        if self._agent is not None and self._agent.layout.devices != count:
            layout = self._agent.layout
            raise InvalidInputError(
                f"this agent was made for {layout.cpus} CPUs and {layout.gpus} GPUs, but the node has {count} devices; "
                "train one for this node"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_writer": None}  # a copy opens a log of its own

    def _meet(self, view: ClusterView) -> Agent:
        """At the first decision: see which devices there are and build networks for them."""
        gpus = int((view.kind == "gpu").sum())
        cpus = len(view.devices) - gpus
        if self._agent is None:
            self._agent = self._build(cpus, gpus)
            if self._training:
                self._agent.begin_training(self._training)
        layout = self._agent.layout
        if (layout.cpus, layout.gpus) != (cpus, gpus):
            raise InvalidInputError(
                f"this agent was made for {layout.cpus} CPUs and {layout.gpus} GPUs, but the node has {cpus} and "
                f"{gpus}; train one for this node"
            )
        self._agent.meet(view)
        return self._agent

    def _set_sizes(self, fractions: Sequence[float], hidden: int) -> None:
        self.fractions = tuple(sorted(float(f) for f in fractions))
        if not (1 <= len(self.fractions) <= MAX_FRACTIONS and self.fractions[0] > 0 and self.fractions[-1] <= 1):
            raise InvalidInputError(
                f"fractions are {list(fractions)}, but there must be 1 to {MAX_FRACTIONS} of them, above 0, at most 1"
            )
        self.hidden = int(_within("hidden", hidden, 1, 4096))

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


def _within(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise InvalidInputError(f"{name} is {value}, but it must be from {low} to {high}")
    return value
