"""`RaceEnv`: one step is one decision, on the engine every scheduler races on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, SupportsInt, get_args

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.objective import Objective, Weights
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import Load, PresetTasks, RecordedTasks, Scenario
from hybrid_scheduler.training.environment.encoding import LARGEST, TASK_INPUTS
from hybrid_scheduler.training.environment.episode import Episode, Terms
from hybrid_scheduler.training.environment.expected_times import TRIALS, ExpectedTimes

Observation = NDArray[np.float32]
Reward = Literal["projected", "finished"]

SEEDS = 2**31
"""Workloads are drawn from seeds below this; the sample tried beforehand has this one, so no episode repeats it."""


class RaceEnv(gymnasium.Env[Observation, np.int64]):
    """Place a stream of tasks on a node, one decision per step.

    **Observation**: `Box` of float32, 3 + 5 per device. The task's log size, intensity and log memory (deviations from
    the usual), then for each device, CPUs first: log1p of its backlog and of the seconds this task is expected to take
    there (both in units of `second`), log1p of the parts queued, 1 if it is up, its share of the highest wattage, and,
    only where money counts, its share of the highest price.
    Backlogs are what a scheduler may see: seconds of work as expected when it was placed (`expected_times`).

    **Action**: `Discrete`. First each CPU, whole task; then each GPU with each of `fractions`, the rest on the CPU of
    its node that would be done first. With `ranked` the devices of a kind stand in order of expected completion: on
    the default node action 0 is the CPU, 1 the best GPU, 2 the second-best; without, they stand in the node's own
    order. For a device that is down stands the one of its kind that would be done first, or else any such; a task
    that does not fit a GPU's memory is left to the memory policy. `action_masks()` tells such actions.

    **Reward**: minus the cost of tasks. A task costs ``weights.time * response / second + weights.energy * energy /
    joule + weights.money * cost / dollar``, or `FAILURE_COST` when it fails. `projected`: of the task just placed, as
    its end then stands; what disturbances change later is paid when the task is placed again, or at the end.
    `finished`: of the tasks that have finished since the last step, and at the last step of all others. Either way the
    rewards of an episode add up to minus the cost of all its tasks.

    **Episode**: `tasks` tasks of the environment's own random stream; terminated after the last decision, never
    truncated. `info` holds `task_id`, the task at hand, `response`, the response times that this step's reward covers,
    and at the end `summary`, every metric of the race (`avg_response`, `makespan`, ...).
    ``reset(options={"workload_seed": 7})`` takes the tasks of that seed; `race()` lets schedulers run on the same ones.

    Args:
        preset: The kind of tasks.
        load: Arrival rate as a share of the node's capacity; 0.6 by default.
        tasks: Tasks per episode; 1000 by default.
        world: The node and how it behaves.
        gpus: Instead of a world: the default node with so many GPUs.
        fractions: GPU shares to choose from; `(0.6, 0.8, 1.0)` to split tasks.
        energy_weight: 0 cares for time only, 1 for energy only; 0 unless `weights` are given.
        trace: Tasks of your own, a file in any registered format or a batch, instead of a preset; every episode has all
            of them, with their own arrival times.
        reward: When tasks are paid for.
        estimates: Expect the nominal times, like `mct`, instead of what a trial of each device has taught.
        ranked: Whether devices stand in order of expected completion.
        render_mode: None: there is nothing to render.
        weights: Instead of `energy_weight`: how much time, energy and money count (`model.objective`).

    Raises:
        InvalidInputError: An argument breaks its rule.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  (declared by the base class)

    def __init__(
        self,
        preset: str = "mixed",
        load: float | None = None,
        tasks: int | None = None,
        world: World | None = None,
        gpus: int | None = None,
        fractions: Sequence[float] = (1.0,),
        energy_weight: float | None = None,
        trace: str | Path | TaskBatch | None = None,
        reward: Reward = "projected",
        estimates: bool = False,
        ranked: bool = True,
        render_mode: None = None,
        weights: Weights | None = None,
    ) -> None:
        shares = np.array(sorted({float(f) for f in fractions}))
        if not (len(shares) and shares[0] > 0.0 and shares[-1] <= 1.0):
            raise InvalidInputError(f"fractions are {list(fractions)}, but each must be above 0 and at most 1")
        goals = Objective.chosen(weights, energy_weight) or Objective(time=1.0)
        if reward not in get_args(Reward):
            raise UnknownNameError("reward", str(reward), get_args(Reward))
        if render_mode is not None:
            raise InvalidInputError(f"render_mode is {render_mode!r}, but there is nothing to render; leave it out")
        if trace is not None and not (load is None and tasks is None):
            raise InvalidInputError("a trace has its own tasks and arrival times; leave out load and tasks")
        self.render_mode = render_mode
        if world is not None and gpus is not None:
            raise InvalidInputError("world and gpus both describe the node; leave one out")
        self.world = world or (World() if gpus is None else World(ClusterSpec.default(gpus)))
        source: PresetTasks | RecordedTasks = PresetTasks(preset)
        sample = None
        if trace is not None:
            source = RecordedTasks(trace) if isinstance(trace, TaskBatch) else RecordedTasks.read(trace, SEEDS)
            sample = source.tasks
        self.scenario = Scenario(source, self.world, tasks, None if load is None else Load(load))
        if sample is None:
            trials = TRIALS * len(self.world.cluster.devices)
            sample = replace(self.scenario, num_tasks=trials, seed=SEEDS, isolated=True).batch()
        expected = ExpectedTimes.tried(sample, self.world, SEEDS)
        second, joule, dollar = expected.usual(sample, self.world)
        self.terms = Terms(
            self.world,
            expected,
            shares,
            goals,
            reward == "finished",
            estimates,
            ranked,
            second,
            joule,
            dollar,
        )
        high = np.full(self.terms.inputs, LARGEST, dtype=np.float32)
        low = np.zeros_like(high)
        low[:TASK_INPUTS] = -LARGEST
        for place in range(3, self.terms.device_inputs):
            high[TASK_INPUTS + place :: self.terms.device_inputs] = 1.0
        self.observation_space = gymnasium.spaces.Box(low, high)
        self.action_space = gymnasium.spaces.Discrete(self.terms.actions)
        self._actions = self.terms.actions
        self._seed = 0
        self._episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a new episode; the option `workload_seed` chooses its tasks and noise.

        Raises:
            InvalidInputError: An option is unknown, or there is nothing to decide because no device is ever up.
        """
        super().reset(seed=seed)
        chosen = dict(options or {})
        self._seed = int(chosen.pop("workload_seed", self.np_random.integers(SEEDS)))
        for name in chosen:
            raise UnknownNameError("option of reset", name, ["workload_seed"])
        tasks = replace(self.scenario, seed=self._seed).batch()
        self._episode = Episode(self.terms, tasks, self._seed)
        if self._episode.over:
            raise InvalidInputError("there is nothing to decide: no device of the cluster is ever up")
        return self._episode.observe(), {"task_id": self.task.task_id}

    def step(self, action: SupportsInt) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Place the task at hand.

        Raises:
            InvalidInputError: There is no such action, or no task at hand.
        """
        episode = self._current()
        paid, response = episode.place(self._checked(action))
        info: dict[str, Any] = {"response": response}
        if episode.over:
            info["summary"] = summarise(episode.outcomes())
        else:
            info["task_id"] = int(episode.tasks.task_id[episode.position])
        return episode.observe(), -paid, episode.over, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """For each action, whether it can be carried out as it stands (the name is MaskablePPO's, of sb3-contrib)."""
        return self._current().mask()

    @property
    def task(self) -> Task:
        """The task at hand."""
        return self._current().task

    def view(self) -> ClusterView:
        """What a scheduler would see now; with `estimates`, one that declares `uses_estimates`."""
        return self._current().view()

    def decision_of(self, action: SupportsInt) -> Decision:
        """What an action means for the task at hand."""
        return self._current().decision_of(self._checked(action))

    def action_of(self, decision: Decision) -> int:
        """The action that places the task at hand as this decision does.

        Raises:
            InvalidInputError: No action does.
        """
        wanted = {(part.device, part.share) for part in decision.parts}
        for action in range(self._actions):
            if {(part.device, part.share) for part in self.decision_of(action).parts} == wanted:
                return action
        raise InvalidInputError(f"no action stands for {decision}; the fractions are {self.terms.fractions.tolist()}")

    def outcomes(self) -> OutcomeBatch:
        """What came of the tasks placed so far; final when the episode is over."""
        return self._current().outcomes()

    def race(self) -> Race:
        """A race with the tasks, the node and the noise of this episode, for schedulers to run through."""
        return Race(self._current().tasks, self.world, seed=self._seed)

    def _current(self) -> Episode:
        if self._episode is None:
            raise InvalidInputError("there is no episode yet; call reset first")
        return self._episode

    def _checked(self, action: SupportsInt) -> int:
        if not 0 <= int(action) < self._actions:
            raise InvalidInputError(f"action is {action}, but it must be from 0 to {self._actions - 1}")
        return int(action)
