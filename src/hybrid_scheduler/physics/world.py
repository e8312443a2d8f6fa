"""The world of a race: its devices and how they behave."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

import numpy as np

from hybrid_scheduler.model.device_columns import PRICE
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.model.outcome import GraphFacts
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.cost import FormulaCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.graph_facts import graph_facts
from hybrid_scheduler.physics.optimum import ROUNDING, gangs_optimum, idle_optimum, least_seconds
from hybrid_scheduler.physics.settings import Physics


@dataclass(frozen=True)
class World:
    """The devices and their physics; the default node unless told otherwise.

    Attributes:
        cluster: The devices.
        physics: How they behave.
    """

    cluster: ClusterSpec = field(default_factory=ClusterSpec.default)
    physics: Physics = field(default_factory=Physics)

    def timed(self, tasks: TaskBatch, seed: int = 0) -> TimedTasks:
        """The tasks with their times on every device; the seed is that of the noise."""
        nominal = self.physics.nominal_times(tasks, self.cluster)
        return TimedTasks(self, tasks, nominal, self.physics.realised_times(nominal, tasks, seed))

    def refuse_too_wide(self, tasks: TaskBatch) -> None:
        """Refuse tasks that occupy more devices of a kind than the cluster has.

        Raises:
            InvalidInputError: There is such a task.
        """
        gpus = int(self.cluster.is_gpu.sum())
        cpus = len(self.cluster.devices) - gpus
        if len(tasks.width) and int(tasks.width.max()) > max(cpus, gpus):
            at = int(tasks.width.argmax())
            raise InvalidInputError(
                f"task {tasks.task_id[at]} has width {tasks.width[at]}: it occupies so many devices of one kind "
                f"together, but the cluster has {cpus} CPUs and {gpus} GPUs; give it more (`--cpus`, `--gpus` or "
                "`--cluster`)"
            )

    def public_table(self) -> FloatArray:
        """The idle, undisturbed device table schedulers see, with the prices that are really paid."""
        table = self.cluster.public_table()
        table[:, PRICE] = self.physics.busy_price(self.cluster)
        return table

    def links(self) -> FloatArray:
        """Seconds a megabyte of one task's result takes from the device it was made on (row) to another (column).

        It leaves a GPU over that GPU's link, crosses the network between nodes, and enters a GPU over its link. That
        last way is not counted here where the cost model has it in a task's time, as part of `memory_required`
        (`CostModel.moves_memory`). Nothing moves on the same device. Links carry any number of results at once, and a
        result is on its way as soon as it is made: the model of Topcuoglu, Hariri and Wu (HEFT, 2002).
        """
        own, node = self.cluster.seconds_per_mb(), self.cluster.column("node")
        entering = 0.0 if self.physics.cost.moves_memory else own[None, :]
        apart = np.where(node[:, None] != node[None, :], 1.0 / self.cluster.network_bandwidth, 0.0)
        links = own[:, None] + apart + entering
        np.fill_diagonal(links, 0.0)
        return np.ascontiguousarray(links)

    def resident_seconds(self) -> FloatArray:
        """For each device the seconds a task saves there for every megabyte that its parents have left on it."""
        own = self.cluster.seconds_per_mb()
        return own if self.physics.cost.moves_memory else np.zeros_like(own)

    def facts(self) -> dict[str, object]:
        """Devices and physics for a document, in the words of `config.yaml`; null is an unlimited memory."""
        devices = [asdict(device) for device in self.cluster.devices]
        for device in devices:
            device.update({key: None for key, value in device.items() if value == math.inf})
        physics, cost = self.physics, self.physics.cost
        model = {"model": "calibrated" if isinstance(cost, CalibratedCost) else "table"}
        if isinstance(cost, FormulaCost):
            model = {"model": "formula", "speedup": cost.speedup}
        return {
            "devices": devices,
            "disturbances": [asdict(disturbance) for disturbance in self.cluster.disturbances],
            **self._network(),
            "physics": {
                **model,
                "split": physics.split,
                "coexecution_penalty": physics.coexecution_penalty,
                "cost": physics.pricing,
                "memory_policy": physics.memory_policy,
                "noise": physics.noise,
            },
        }

    def _network(self) -> dict[str, object]:
        """The network, where there is more than one node."""
        several = len({device.node for device in self.cluster.devices}) > 1
        return {"network_bandwidth": self.cluster.network_bandwidth} if several else {}


@dataclass(frozen=True, eq=False)
class TimedTasks:
    """Tasks in a world: how long each takes on every device.

    Attributes:
        world: The world.
        tasks: The tasks.
        nominal: What the cost model says, shape (tasks, 2, devices).
        realised: The same with this run's noise.
    """

    world: World
    tasks: TaskBatch
    nominal: FloatArray
    realised: FloatArray

    def savings(self) -> FloatArray:
        """The seconds each task really saves on each device for a megabyte that is there already.

        Noise stretches the way of the memory as it does the rest of a task's time there.
        """
        own, cluster = self.world.resident_seconds(), self.world.cluster
        if self.world.physics.noise == 0.0 or not own.any():
            return np.tile(own, (len(self.tasks), 1))
        nominal = self.world.physics.nominal_times(self.tasks, cluster)[:, SHARED]
        moves = nominal > 0.0
        noise = np.divide(self.realised[:, SHARED], nominal, out=np.zeros_like(nominal), where=moves)
        return np.ascontiguousarray(own * noise)

    def shortest_times(self, handed: FloatArray | None = None) -> FloatArray:
        """The realised times if all the data of every task's parents were on every device: no run has shorter ones.

        Args:
            handed: Megabytes that each task gets; those of its parents among these tasks unless given.
        """
        if handed is None:
            children = np.repeat(np.arange(len(self.tasks)), np.diff(self.tasks.parent_start))
            data = self.tasks.parent_mb
            handed = np.bincount(children, data, len(self.tasks)).astype(np.float64) if len(data) else data
        if not handed.any():
            return self.realised
        resident = np.minimum(handed, self.tasks.memory_required)
        saved = resident[:, None] * self.savings() * (1.0 + ROUNDING)
        times = self.realised.copy()
        times[:, SHARED] = np.maximum(times[:, SHARED] - saved, times[:, SHARED] * ROUNDING)
        return times

    def labels(self) -> LabelBatch:
        """The oracle's labels: whole-task time on every device, best fraction and best time on an idle node."""
        table, facts = self.world.cluster.public_table(), self.world.physics.facts()
        memory, width = self.tasks.memory_required, self.tasks.width
        _, _, fraction, seconds = idle_optimum(self.realised, memory, table, facts)
        if len(width):
            together, on_gpus = gangs_optimum(self.realised, memory, table, width)
            wide = width > 1
            fraction, seconds = np.where(wide, on_gpus, fraction), np.where(wide, together, seconds)
        return LabelBatch(self.tasks, self.realised.sum(axis=1), fraction, seconds)

    def least_seconds(self, handed: FloatArray | None = None) -> FloatArray:
        """The least seconds of each task (`physics.optimum.least_seconds`), with data as `shortest_times` says."""
        table, facts = self.world.cluster.public_table(), self.world.physics.facts()
        tasks = self.tasks
        return least_seconds(self.shortest_times(handed), tasks.memory_required, table, facts, tasks.width)

    def graphs(self) -> GraphFacts | None:
        """What metrics of graphs need; None where no task depends on another."""
        return graph_facts(self) if self.tasks.has_dependencies else None
