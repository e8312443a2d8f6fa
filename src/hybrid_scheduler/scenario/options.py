"""From a command's options and a configuration to a scenario: one place, one precedence, for everybody.

What the caller says beats the environment (and `.env`), which beats the file, which beats the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hybrid_scheduler.config import Config, load_cluster
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.cost import CostModel, FormulaCost, Speedup, TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import MemoryPolicy, Pricing, SplitModel
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.scenario import DEFAULT_LOAD, Load, Rate, Scenario
from hybrid_scheduler.scenario.sources import DEFAULT_PARENTS, RANGES, GraphTasks, PresetTasks, RecordedTasks, Source
from hybrid_scheduler.workloads import TableFile, find_graph, read_table
from hybrid_scheduler.workloads.readers.registry import read_workload
from hybrid_scheduler.workloads.shapes import Range

FilePath = str | Path


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """What a caller may say about a scenario; None: what the configuration says.

    Attributes:
        preset: Kind of workload, graphs with parameters such as `cholesky:tiles=10`.
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
        gpus: Default node of 1 CPU and so many GPUs.
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
    gpus: int | None = None
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
        arrivals = self.arrivals(None)
        if self.trace is not None:
            name, file = read_workload(self.trace, seed, self.format)
            source = RecordedTasks.of(file, self.trace, name)
            if isinstance(file, TableFile):
                table = self._only_table(file)
        elif table is not None and self.table is not None:
            source = RecordedTasks.of(table, self.table, "table")
        else:
            source = self.preset_tasks(config)
            arrivals = self.arrivals(config)
        count = self._count(source, config, default_tasks)
        if arrivals is None and not isinstance(source, RecordedTasks):
            alone = isinstance(source, GraphTasks) and source.graphs(count) == 1
            arrivals = None if alone else Load(default_load)
        return Scenario(
            source,
            self.world(config, table),
            count,
            arrivals,
            seed,
            self.isolated,
            self.warmup,
        )

    def _only_table(self, file: TableFile) -> TableFile:
        """The times of a trace that has some, if nothing else says how long tasks take."""
        if self.table is not None:
            raise InvalidInputError(f"{self.trace} and {self.table} both give times per device; leave one out")
        if self.speedup is not None:
            raise InvalidInputError(
                f"speedup ({self.speedup}) is for times by formula, but {self.trace} gives the times; leave one out"
            )
        return file

    def world(self, config: Config, table: TableFile | None = None) -> World:
        """The devices and their physics; a table names the devices by its columns when nobody else describes them."""
        wanted = {name: getattr(self, name) for name in ("split", "cost", "memory_policy", "noise")}
        section = config.physics.model_copy(update={name: value for name, value in wanted.items() if value is not None})
        return World(self._cluster(config, table), section.build(self._cost(config, table)))

    def _cluster(self, config: Config, table: TableFile | None) -> ClusterSpec:
        if self.cluster is not None:
            return load_cluster(Path(self.cluster))
        if table is not None and self.gpus is None and config.cluster.devices is None:
            devices = tuple(Device(name, "gpu" if name.startswith("gpu") else "cpu") for name in table.device_names)
            return ClusterSpec(devices, tuple(disturbance.build() for disturbance in config.cluster.disturbances))
        return config.cluster_spec(self.gpus)

    def _cost(self, config: Config, table: TableFile | None) -> CostModel:
        if table is None:
            return FormulaCost(config.physics.speedup if self.speedup is None else self.speedup)
        return TableCost(table.seconds, tuple(table.tasks.task_id.tolist()), table.device_names)

    def preset_tasks(self, config: Config) -> PresetTasks | GraphTasks:
        """The tasks of a preset, in the ranges of caller or file.

        Raises:
            InvalidInputError: There is no such preset, or it makes graphs, whose tasks are what they are.
        """
        preset = config.workload.preset if self.preset is None else self.preset
        ranges = {name: getattr(self, name) for name in RANGES}
        if preset == config.workload.preset:
            # The file's ranges are those of its own preset; another preset asked for by hand is meant as it is.
            ranges = {name: getattr(config.workload, name) if own is None else own for name, own in ranges.items()}
        if find_graph(preset) is not None:
            own = {**ranges, "dependency_prob": self.dependency_prob, "max_dependencies": self.max_dependencies}
            for name, value in own.items():
                if value is not None:
                    raise InvalidInputError(
                        f"{name} ({value}) is for single tasks, but preset {preset} makes whole graphs; leave one out"
                    )
            return GraphTasks(preset)
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
