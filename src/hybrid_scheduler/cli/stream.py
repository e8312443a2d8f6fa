"""Tasks of a preset, and the checks every stream goes through."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from hybrid_scheduler.config import Config
from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.physics.cost import CostModel
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.workloads import WorkloadGenerator, find_preset
from hybrid_scheduler.workloads.capacity import SAMPLE_SEED, SAMPLE_TASKS, capacity, capacity_of_tasks

DEFAULT_LOAD = 0.6
DEFAULT_PARENTS = 3
RANGES = ("size_range", "intensity_range", "memory_range")
Range = tuple[float, float]


@dataclass(frozen=True)
class StreamOptions:
    """What the command line says about the tasks; None: nothing."""

    preset: str | None = None
    tasks: int | None = None
    rate: float | None = None
    load: float | None = None
    dependency_prob: float | None = None
    max_dependencies: int | None = None
    size_range: Range | None = None
    intensity_range: Range | None = None
    memory_range: Range | None = None
    isolated: bool = False


@dataclass(frozen=True)
class Stream:
    """A stream of tasks.

    Attributes:
        tasks: The tasks.
        source: Where they come from, in the words of the JSON document.
        notes: What the user should know about them; said beside a result, never beside an error.
        statistics: Figures of a generated stream.
        more: Makes so many other tasks of the same kind from another seed, for training.
    """

    tasks: TaskBatch
    source: Mapping[str, object]
    notes: tuple[str, ...] = ()
    statistics: Mapping[str, float | int | None] = field(default_factory=dict)
    more: Callable[[int, int], TaskBatch] | None = None


def synthetic_stream(
    options: StreamOptions, config: Config, seed: int, cluster: ClusterSpec, cost: CostModel
) -> Stream:
    """The tasks of a preset.

    Raises:
        InvalidInputError: An option breaks its rule.
    """
    refuse_rate_and_load(options)
    preset = config.workload.preset if options.preset is None else options.preset
    count = config.workload.num_tasks if options.tasks is None else options.tasks
    refuse_beyond_memory(count, len(cluster.devices))
    ranges = _ranges(options, config, preset)
    generator = WorkloadGenerator(seed)
    kind = partial(
        WorkloadGenerator.generate,
        preset=preset,
        size_range=ranges["size_range"],
        intensity_range=ranges["intensity_range"],
        memory_range=ranges["memory_range"],
        dependency_prob=options.dependency_prob or 0.0,
        max_dependencies=options.max_dependencies or DEFAULT_PARENTS,
    )
    source: dict[str, object] = {"preset": preset, "arrival_rate": None, "load": None}
    if not options.isolated:
        most = _capacity(preset, ranges, cluster, cost)
        rate = _rate(options, config, most)
        kind = partial(kind, arrival_rate=rate)
        source.update(arrival_rate=rate, load=rate / most)
    tasks = kind(generator, num_tasks=count)
    source.update({name: list(wanted) for name, wanted in ranges.items() if wanted is not None})
    if options.dependency_prob:
        most_parents = options.max_dependencies or DEFAULT_PARENTS
        source.update(dependency_prob=options.dependency_prob, max_dependencies=most_parents)

    def more(count: int, seed: int) -> TaskBatch:
        return kind(WorkloadGenerator(seed), num_tasks=count)

    return Stream(tasks, source, rate_notes(options), generator.get_statistics(), more)


def _ranges(options: StreamOptions, config: Config, preset: str) -> dict[str, Range | None]:
    """The ranges to map the preset's features onto; None where they are the preset's own."""
    ranges: dict[str, Range | None] = {}
    for name, own in zip(RANGES, find_preset(preset).shapes.ranges, strict=True):
        wanted: Range | None = getattr(options, name)
        # The file's ranges are those of its own preset; another preset asked for by hand is meant as it is.
        if wanted is None and preset == config.workload.preset:
            wanted = getattr(config.workload, name)
        ranges[name] = None if wanted == own else wanted
    return ranges


def _capacity(preset: str, ranges: Mapping[str, Range | None], cluster: ClusterSpec, cost: CostModel) -> float:
    if not any(ranges.values()):
        return capacity(preset, cluster, cost)
    sizes, intensities, memories = (ranges[name] for name in RANGES)
    sample = WorkloadGenerator(SAMPLE_SEED).generate(
        preset, SAMPLE_TASKS, size_range=sizes, intensity_range=intensities, memory_range=memories
    )
    return capacity_of_tasks(sample, cluster, cost)


def _rate(options: StreamOptions, config: Config, most: float) -> float:
    """Tasks per second: command line before file, and the default load when neither says anything."""
    if options.rate is not None:
        return options.rate
    if options.load is not None:
        return options.load * most
    if config.workload.rate is not None:
        return config.workload.rate
    return most * (DEFAULT_LOAD if config.workload.load is None else config.workload.load)


def refuse_rate_and_load(options: StreamOptions) -> None:
    """Two ways to set one thing are refused."""
    if options.rate is not None and options.load is not None:
        raise InvalidInputError(
            f"--rate {options.rate:g} and --load {options.load:g} both set the arrivals; leave one out"
        )


def rate_notes(options: StreamOptions) -> tuple[str, ...]:
    """A setting without effect is pointed out."""
    if options.isolated and not (options.rate is None and options.load is None):
        return ("with --isolated the next task arrives when the last has ended; --rate and --load change nothing",)
    return ()


def refuse_beyond_memory(tasks: int, devices: int) -> None:
    """A machine that swaps or kills the process says less than one line here."""
    needed = tasks * (800 + 40 * devices)  # bytes; measured over a race of a million tasks
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return
    if needed > there:
        raise InvalidInputError(
            f"{tasks} tasks on {devices} devices need about {needed / 1e9:.0f} GB of memory, but this machine has "
            f"{there / 1e9:.0f} GB; use fewer tasks"
        )
