"""The named presets: shapes of the tasks and the process they arrive by."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.workloads.arrivals import Arrivals, BurstyArrivals, PoissonArrivals
from hybrid_scheduler.workloads.graphs.base import GraphPreset
from hybrid_scheduler.workloads.graphs.registry import GRAPH_PRESETS, find_graph
from hybrid_scheduler.workloads.kernel_preset import KernelPreset, find_kernels
from hybrid_scheduler.workloads.shapes import DriftingShapes, MixedShapes, Ranges, Shapes, UniformShapes

_POISSON = PoissonArrivals()


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of workload.

    Attributes:
        name: What users call it.
        summary: One line for lists.
        shapes: Distribution of size, intensity and memory.
        arrivals: The arrival process.
    """

    name: str
    summary: str
    shapes: Shapes
    arrivals: Arrivals = _POISSON


_STEADY = (
    Preset("mixed", "long-tailed sizes, two groups of intensity, memory that grows with size", MixedShapes()),
    Preset(
        "gpu_favourable",
        "big tasks of high intensity that need little memory",
        UniformShapes(Ranges((1000.0, 10_000.0), (0.8, 1.0), (10.0, 500.0))),
    ),
    Preset(
        "cpu_favourable",
        "small tasks of low intensity that need much memory",
        UniformShapes(Ranges((10.0, 100.0), (0.0, 0.1), (2000.0, 5000.0))),
    ),
    Preset(
        "uniform",
        "medium tasks of every intensity",
        UniformShapes(Ranges((500.0, 1500.0), (0.1, 0.9), (50.0, 150.0))),
    ),
    Preset(
        "bursty", "the tasks of mixed, arriving in bursts with silence between them", MixedShapes(), BurstyArrivals()
    ),
)


def drifting(start: str = "gpu_favourable", end: str = "cpu_favourable", tasks: int | None = None) -> Preset:
    """A preset that moves from the tasks of `start` to those of `end`, arriving as a Poisson process.

    Args:
        start: Preset of the first task.
        end: Preset of the last task.
        tasks: Over how many tasks it moves; None: the whole workload, or 1000 tasks of an endless one.
    """
    steady = {preset.name: preset.shapes for preset in _STEADY}
    for name in (start, end):
        if name not in steady:
            raise UnknownNameError("preset to drift between", name, steady)
    return Preset(
        f"drift:{start}:{end}",
        f"moves from {start} to {end} over the workload",
        DriftingShapes(steady[start], steady[end], tasks),
    )


_DRIFT = drifting()

PRESETS: dict[str, Preset] = {
    **{preset.name: preset for preset in _STEADY},
    "drift": Preset("drift", _DRIFT.summary, _DRIFT.shapes),
}
"""Every preset of synthetic single tasks by name; those of whole graphs are in `graphs.registry`, kernels in
`kernel_preset`."""

WorkloadPreset = Preset | GraphPreset | KernelPreset


def find_preset(name: str | Preset) -> Preset:
    """The preset of this name; `drift:A:B` drifts from preset A to preset B. A `Preset` is returned as it is."""
    if isinstance(name, Preset):
        return name
    if name.startswith("drift:"):
        _, *ends = name.split(":")
        if len(ends) != 2:
            raise InvalidInputError(f"preset {name!r} must name two presets: 'drift:A:B', e.g. 'drift:mixed:uniform'")
        return drifting(ends[0], ends[1])
    if find_graph(name) is not None:
        raise InvalidInputError(f"preset {name!r} makes whole graphs, but here it must be one of {', '.join(PRESETS)}")
    if find_kernels(name) is not None:
        raise InvalidInputError(f"preset {name!r} makes kernels, but here it must be one of {', '.join(PRESETS)}")
    if name not in PRESETS:
        raise UnknownNameError("preset", name, (*PRESETS, KernelPreset.name, *GRAPH_PRESETS))
    return PRESETS[name]


def find_workload(name: str | WorkloadPreset) -> WorkloadPreset:
    """The preset of this name, of single tasks, of kernels or of whole graphs."""
    if isinstance(name, WorkloadPreset):
        return name
    return find_graph(name) or find_kernels(name) or find_preset(name)
