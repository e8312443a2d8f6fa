"""From a command's options and a configuration to a scenario: one place, one precedence, for everybody.

What the caller says beats the environment (and `.env`), which beats the file, which beats the default.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hybrid_scheduler.config import ClusterFile, Config, load_cluster_section
from hybrid_scheduler.hardware.calibration_file import read_calibration
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.cost import CostModel, FormulaCost, Speedup, TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import MemoryPolicy, Pricing, SplitModel
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.scenario import DEFAULT_LOAD, Load, Rate, Scenario
from hybrid_scheduler.scenario.sources import (
    DEFAULT_PARENTS,
    RANGES,
    Estimates,
    GraphTasks,
    KernelTasks,
    PresetTasks,
    RecordedTasks,
    Source,
)
from hybrid_scheduler.workloads import KernelPreset, TableFile, TraceFile, find_graph, find_kernels, read_table
from hybrid_scheduler.workloads.readers.registry import read_workload
from hybrid_scheduler.workloads.recorded import Assumption
from hybrid_scheduler.workloads.shapes import Range

FilePath = str | Path


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """What a caller may say about a scenario; None: what the configuration says.

    Attributes:
        preset: Kind of workload, graphs with parameters such as `cholesky:tiles=10`, kernels with parameters such as
            `kernels:kinds=matmul+sort,sizes=100-2000`. On a calibrated node it is `kernels` unless somebody says.
        trace: File of tasks in any registered format, instead of a preset; one with times per device is a table too.
        format: The format of the trace; recognised by content unless given.
        table: CSV file of times per task and device.
        tasks: Number of tasks; of graphs at least so many, in whole graphs, and one graph when nobody says.
        rate: Arrivals: tasks per second.
        load: Arrivals: rate as a share of the node's capacity.
        size_range: Range to map the preset's sizes onto.
        intensity_range: The same for intensity.
        memory_range: The same for memory, in MB.
        dependency_prob: Probability that a task waits for earlier ones.
        max_dependencies: Most parents of such a task.
        estimates: What schedulers are told of the times of a trace: what its users asked for (`requested`), or what was
            recorded (`nominal`). The former where the trace has it.
        gpus: Default node of 1 CPU and so many GPUs.
        cpus: Default node of so many CPUs.
        cluster: YAML file that describes the devices.
        speedup: How a GPU gains from a task's intensity.
        split: Parts of a split task: `concurrent` or `serial`.
        cost: Price list: `cloud` or `electricity`.
        memory_policy: A task that does not fit: `fallback` or `fail`.
        noise: Sigma of the log-normal noise on times.
        seed: Same seed, same tasks, same results.
        isolated: Every task meets an idle node.
        warmup: Statistics leave out the first so many tasks.
    """

    preset: str | None = None
    trace: FilePath | None = None
    format: str | None = None
    table: FilePath | None = None
    tasks: int | None = None
    rate: float | None = None
    load: float | None = None
    size_range: Range | None = None
    intensity_range: Range | None = None
    memory_range: Range | None = None
    dependency_prob: float | None = None
    max_dependencies: int | None = None
    estimates: Estimates | None = None
    gpus: int | None = None
    cpus: int | None = None
    cluster: FilePath | None = None
    speedup: Speedup | None = None
    split: SplitModel | None = None
    cost: Pricing | None = None
    memory_policy: MemoryPolicy | None = None
    noise: float | None = None
    seed: int | None = None
    isolated: bool = False
    warmup: int = 0

    def __post_init__(self) -> None:
        pairs = {("rate", "load"): "set the arrivals", ("gpus", "cluster"): "describe the node"}
        pairs["cpus", "cluster"] = "describe the node"
        for (one, other), what in pairs.items():
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InvalidInputError(
                    f"{one} ({getattr(self, one)}) and {other} ({getattr(self, other)}) both {what}; leave one out"
                )
        if self.table is not None and self.speedup is not None:
            raise InvalidInputError(
                f"speedup ({self.speedup}) is for times by formula, but a table gives the times; leave one out"
            )
        if self.format is not None and self.trace is None:
            raise InvalidInputError(f"format ({self.format}) is that of a trace; give the trace too")
        if self.estimates is not None and self.trace is None:
            raise InvalidInputError(f"estimates ({self.estimates}) are those of a trace; give the trace too")
        file = self.trace if self.trace is not None else self.table
        for name in ("preset", "dependency_prob", "max_dependencies", *RANGES):
            if file is not None and getattr(self, name) is not None:
                raise InvalidInputError(
                    f"{name} ({getattr(self, name)}) is for generated tasks, but these come from {file}; leave one out"
                )

    def scenario(
        self, config: Config, *, default_tasks: int | None = None, default_load: float = DEFAULT_LOAD
    ) -> Scenario:
        """The scenario.

        Args:
            config: What file and environment say.
            default_tasks: How many tasks of a preset when nobody says.
            default_load: The load of a preset when nobody says.

        Raises:
            InvalidInputError: Something breaks its rule, or does not go together.
        """
        seed = config.simulation.seed if self.seed is None else self.seed
        table = None if self.table is None else read_table(self.table)
        source: Source
        cluster: ClusterSpec | None = None
        world: World | None = None
        arrivals = self.arrivals(None)
        if self.trace is not None:
            name, file = read_workload(self.trace, seed, self.format)
            source = RecordedTasks.of(file, self.trace, name, self.estimates)
            if isinstance(file, TableFile):
                table = self._only_table(file)
                if self._names_no_device(config):
                    table, source = _as_wide(table, source)
            else:
                cluster, source = self._wide_node(config, file, source)
        elif table is not None and self.table is not None:
            source = RecordedTasks.of(table, self.table, "table")
        else:
            world = self.world(config)
            source = self.preset_tasks(config, world)
            arrivals = self.arrivals(config)
        count = self._count(source, config, default_tasks)
        if arrivals is None and not isinstance(source, RecordedTasks):
            alone = isinstance(source, GraphTasks) and source.graphs(count) == 1
            arrivals = None if alone else Load(default_load)
        return Scenario(
            source,
            world or self.world(config, table, cluster),
            count,
            arrivals,
            seed,
            self.isolated,
            self.warmup,
        )

    def _wide_node(
        self, config: Config, file: TraceFile, source: RecordedTasks
    ) -> tuple[ClusterSpec | None, RecordedTasks]:
        """A node as wide as the widest task of a trace where nobody describes one, and the statement of that."""
        widest = int(file.tasks.width.max(initial=1))
        said = not self._names_no_device(config) or "num_gpus" in config.simulation.model_fields_set
        there = config.simulation.num_gpus if file.wide_on == "gpu" else 1
        if said or file.wide_on is None or widest <= there:
            return None, source
        on_gpus = file.wide_on == "gpu"
        kind, option = ("GPUs", "--gpus") if on_gpus else ("CPUs and no GPU", "--cpus")
        text = (
            f"the node has {widest} {kind}, as many as the widest task occupies; {option} or --cluster describe another"
        )
        note = Assumption("node_as_wide", text)
        cluster = config.cluster_spec(widest if on_gpus else 0, 1 if on_gpus else widest)
        return cluster, replace(source, assumed=(*source.assumed, note))

    def _names_no_device(self, config: Config) -> bool:
        """Whether nobody describes the node."""
        said = self.gpus is not None or self.cpus is not None or self.cluster is not None
        return not said and config.cluster.devices is None

    def _only_table(self, file: TableFile) -> TableFile:
        """The times of a trace that has some, if nothing else says how long tasks take."""
        if self.table is not None:
            raise InvalidInputError(f"{self.trace} and {self.table} both give times per device; leave one out")
        if self.speedup is not None:
            raise InvalidInputError(
                f"speedup ({self.speedup}) is for times by formula, but {self.trace} gives the times; leave one out"
            )
        return file

    def world(self, config: Config, table: TableFile | None = None, cluster: ClusterSpec | None = None) -> World:
        """The devices and their physics; a table names the devices by its columns when nobody else describes them."""
        own = None if self.cluster is None else load_cluster_section(Path(self.cluster))
        wanted = {} if own is None else own.physics.model_dump()
        wanted |= {n: v for n in ("split", "cost", "memory_policy", "noise") if (v := getattr(self, n)) is not None}
        section = config.physics.model_copy(update={name: value for name, value in wanted.items() if value is not None})
        cost = self._cost(config, table, own)
        described = self._cluster(config, table) if own is None else own.build(0)
        return World(cluster or described, section.build(cost))

    def _cluster(self, config: Config, table: TableFile | None) -> ClusterSpec:
        if table is not None and self._names_no_device(config):
            devices = tuple(Device(name, "gpu" if name.startswith("gpu") else "cpu") for name in table.device_names)
            return config.cluster.with_devices(devices)
        return config.cluster_spec(self.gpus, self.cpus)

    def _cost(self, config: Config, table: TableFile | None, file: ClusterFile | None) -> CostModel:
        if file is not None and file.calibration is not None:
            for name, given in (("a table", table), ("speedup", self.speedup)):
                if given is not None:
                    raise InvalidInputError(
                        f"the node is calibrated ({file.calibration}), so {name} says nothing; leave it out"
                    )
            return read_calibration(Path(file.calibration), file.others_busy, file.at_work, file.pause)
        if table is None:
            return FormulaCost(config.physics.speedup if self.speedup is None else self.speedup)
        return TableCost(table.seconds, tuple(table.tasks.task_id.tolist()), table.device_names)

    def preset_tasks(self, config: Config, world: World) -> PresetTasks | GraphTasks | KernelTasks:
        """The tasks of a preset, in the ranges of caller or file.

        Args:
            config: What file and environment say.
            world: The node; kernels are those that it knows.

        Raises:
            InvalidInputError: There is no such preset, or it makes graphs or kernels, whose tasks are what they are.
        """
        preset = config.workload.preset if self.preset is None else self.preset
        said = self.preset is not None or "preset" in config.workload.model_fields_set
        if not said and isinstance(world.physics.cost, CalibratedCost):
            preset = KernelPreset.name
        ranges = {name: getattr(self, name) for name in RANGES}
        if preset == config.workload.preset:
            # The file's ranges are those of its own preset; another preset asked for by hand is meant as it is.
            ranges = {name: getattr(config.workload, name) if own is None else own for name, own in ranges.items()}
        kernels = find_kernels(preset)
        if kernels is not None or find_graph(preset) is not None:
            what = "whole graphs" if kernels is None else "kernels"
            own = {**ranges, "dependency_prob": self.dependency_prob, "max_dependencies": self.max_dependencies}
            for name, value in own.items():
                if value is not None:
                    raise InvalidInputError(
                        f"{name} ({value}) is for single tasks, but preset {preset} makes {what}; leave one out"
                    )
            return GraphTasks(preset) if kernels is None else KernelTasks.known_to(kernels, world.physics.cost)
        return PresetTasks(
            preset,
            **ranges,
            dependency_prob=self.dependency_prob or 0.0,
            max_dependencies=self.max_dependencies or DEFAULT_PARENTS,
        )

    def arrivals(self, config: Config | None) -> Rate | Load | None:
        """As the caller says, else as the file says, if it is asked."""
        for told in (self, *(() if config is None else (config.workload,))):
            if told.rate is not None:
                return Rate(told.rate)
            if told.load is not None:
                return Load(told.load)
        return None

    def _count(self, source: Source, config: Config, default: int | None) -> int | None:
        if self.tasks is not None or isinstance(source, RecordedTasks):
            return self.tasks
        said = "num_tasks" in config.workload.model_fields_set
        if isinstance(source, GraphTasks) and not said:
            return default
        return default if default is not None and not said else config.workload.num_tasks


def _as_wide(table: TableFile, source: RecordedTasks) -> tuple[TableFile, RecordedTasks]:
    """A table with as many devices of every column as its widest task occupies, where it has too few; it is stated."""
    widest = int(table.tasks.width.max(initial=1))
    gpus = sum(name.startswith("gpu") for name in table.device_names)
    if widest <= max(gpus, len(table.device_names) - gpus):
        return table, source
    names = tuple(f"{name}_{i}" for name in table.device_names for i in range(widest))
    text = f"the node has {widest} devices of each kind, as many as its widest task occupies; --cluster says otherwise"
    wider = replace(table, seconds=np.repeat(table.seconds, widest, axis=1), device_names=names)
    return wider, replace(source, assumed=(*source.assumed, Assumption("node_as_wide", text)))
