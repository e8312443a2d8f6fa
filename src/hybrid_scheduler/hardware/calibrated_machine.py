"""`CalibratedMachine`: what was measured of a machine, and what of it was not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median, quantiles
from typing import Final

from hybrid_scheduler.physics.calibrated import CalibratedCost, Measurement
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.workloads.kernel_kinds import kernel_kind

ENOUGH_MEGABYTES: Final = 1.0
"""Less than this says more about a link's latency than about its bandwidth."""
FIGURES: Final = ("latency", "bandwidth", "memory_mb", "watts", "idle_watts")
"""What a calibration can say of a device, in the words of a node file."""


@dataclass(frozen=True, slots=True)
class Together:
    """How much longer splits take than the longer of their parts alone, relatively.

    Attributes:
        stretches: Each split's; may be below 0 where measuring is no better than that.
    """

    stretches: tuple[float, ...]

    @property
    def penalty(self) -> float:
        """The median; at least 0."""
        return max(median(self.stretches), 0.0)

    def __str__(self) -> str:
        if len(self.stretches) < 2:
            return f"The stretch of {len(self.stretches)} split."
        low, _, high = quantiles(self.stretches, n=4, method="inclusive")
        return f"The median stretch of {len(self.stretches)} splits; half of them lie within {low:.2f} to {high:.2f}."


@dataclass(frozen=True)
class CalibratedMachine:
    """A machine as it was measured.

    Attributes:
        measurements: Kernels x sizes x devices.
        cluster: The devices; figures that were not measured are the defaults.
        measured: For each device the figures that were measured.
        together: Of splits; None where nothing was split.
        others_busy: The share of the time in which the other devices are taken to be busy (`CalibratedCost`).
        at_work: How many times as long tasks ran on each device in a stream (`CalibratedCost`).
        pause: How many seconds lay between two tasks there (`CalibratedCost`).
    """

    measurements: tuple[Measurement, ...]
    cluster: ClusterSpec
    measured: Mapping[str, frozenset[str]]
    together: Together | None = None
    others_busy: float = 0.0
    at_work: Mapping[str, float] = field(default_factory=dict)
    pause: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        measurements: Sequence[Measurement],
        cluster: ClusterSpec,
        watts: Mapping[str, tuple[float, float]],
        memory_mb: Mapping[str, float],
        together: Together | None = None,
        others_busy: float = 0.0,
    ) -> CalibratedMachine:
        """With links from the measurements.

        Args:
            measurements: Kernels x sizes x devices.
            cluster: The devices.
            watts: By device, busy and idle; not a number, or no device, where the machine does not tell.
            memory_mb: By device, where the machine tells it.
            together: Of splits.
            others_busy: See `CalibratedCost`.
        """
        devices: list[Device] = []
        measured: dict[str, frozenset[str]] = {}
        for device in cluster.devices:
            own = [m for m in measurements if m.device == device.name]
            busy, idle = watts.get(device.name, (math.nan, math.nan))
            figures = {"latency": min(m.launch for m in own), "watts": busy, "idle_watts": idle}
            if device.kind == "gpu":
                figures["bandwidth"] = bandwidth(own)
                figures["memory_mb"] = memory_mb.get(device.name, math.nan)
            known = {name: value for name, value in figures.items() if not math.isnan(value)}
            devices.append(replace(device, **known))  # type: ignore[arg-type]
            measured[device.name] = frozenset(known)
        spec = replace(cluster, devices=tuple(devices))
        return cls(tuple(measurements), spec, measured, together, others_busy)

    @cached_property
    def cost(self) -> CalibratedCost:
        """The cost model of the measurements."""
        return CalibratedCost(self.measurements, self.others_busy, self.at_work, self.pause)

    @property
    def noise(self) -> float:
        """See `CalibratedCost.noise`."""
        return self.cost.noise()

    def figures_of(self, device: Device) -> tuple[str, ...]:
        """What was measured of a device, in the order of `FIGURES`."""
        return tuple(name for name in FIGURES if name in self.measured[device.name])

    def not_measured(self, device: Device) -> tuple[str, ...]:
        """What could have been measured of a device and was not."""
        possible = FIGURES if device.kind == "gpu" else ("latency", "watts", "idle_watts")
        return tuple(name for name in possible if name not in self.measured[device.name])

    def to_json(self) -> dict[str, object]:
        """Errors, scatter and what was and was not measured, for a document."""
        devices = {
            device.name: {
                "measured": {name: getattr(device, name) for name in self.figures_of(device)},
                "not_measured": list(self.not_measured(device)),
            }
            for device in self.cluster.devices
        }
        noisy = [{"kind": each.kind, "device": each.device} for each in self.cost.noisy()]
        return {
            "errors": self.cost.errors(),
            "scatter": self.cost.scatter(),
            "noisy": noisy,
            "devices": devices,
            "physics": {
                "noise": self.noise,
                "coexecution_penalty": None if self.together is None else self.together.penalty,
                "others_busy": self.others_busy,
                "at_work": dict(self.at_work),
                "pause": dict(self.pause),
            },
        }


def bandwidth(measurements: Iterable[Measurement]) -> float:
    """Megabytes a second to a device and back: the median over what moved enough; not a number where nothing did."""
    moved = [(kernel_kind(m.kind).megabytes(m.size), m.transfer) for m in measurements]
    rates = [megabytes / seconds for megabytes, seconds in moved if megabytes >= ENOUGH_MEGABYTES and seconds > 0.0]
    return median(rates) if rates else math.nan
