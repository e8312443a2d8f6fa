"""The cost model of a machine that was measured: seconds by kind, size and device, between sizes by interpolation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.ranges import Range, within
from hybrid_scheduler.model.task import FloatArray, IntArray, TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.device import ClusterSpec

LEAST_SECONDS = 1e-12
NOISE = 0.2
"""A relative error or a scatter above this is named as noise."""
AT_WORK = Range(1e-3, 1e3)
PAUSES = Range(0.0, 1e3)
"""What a machine can be at work, compared with its kernels one by one."""
SLACK = 1e-9
"""How far a size may lie outside those measured, relatively: a size that was written and read is the same size."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One kernel of one size on one device: medians in seconds.

    Attributes:
        kind: Which kernel.
        size: Its size.
        device: The device's name.
        launch: Sending, preparing and reporting: every part pays it, whatever its share.
        compute: The rest of what is neither launch nor transfer.
        transfer: The way of the data to the device and back; 0 on a CPU.
        scatter: Deviation of the logarithm of the time over repeated runs.
        slowdown: How much longer all of it takes while the machine's other devices are busy, relatively; 0 where nobody
            measured.
        every_part: What every part pays whatever its share, launch included; 0 where nobody measured, and then it is
            the launch.
    """

    kind: str
    size: float
    device: str
    launch: float
    compute: float
    transfer: float = 0.0
    scatter: float = 0.0
    slowdown: float = 0.0
    every_part: float = 0.0

    @property
    def seconds(self) -> float:
        """The whole task."""
        return self.launch + self.compute + self.transfer


@dataclass(frozen=True)
class Curve:
    """The measurements of one kernel on one device, by ascending size."""

    size: FloatArray
    launch: FloatArray
    compute: FloatArray
    transfer: FloatArray
    scatter: FloatArray
    slowdown: FloatArray
    every_part: FloatArray

    @classmethod
    def of(cls, measurements: Iterable[Measurement]) -> Curve:
        """Sort and pack."""
        rows = sorted(measurements, key=lambda m: m.size)
        columns = [np.array([getattr(row, name) for row in rows]) for name in cls.__dataclass_fields__]
        return cls(*columns)

    @property
    def run(self) -> FloatArray:
        """What a whole task pays beside its transfer."""
        return self.launch + self.compute

    def at(self, values: FloatArray, size: FloatArray) -> FloatArray:
        """One column at other sizes: linear in the logarithms of size and value."""
        return _between(self.size, values, size)

    def times(
        self, size: FloatArray, others_busy: float, at_work: float = 1.0, pause: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """`FIXED` and `SHARED` seconds at other sizes.

        Run and transfer are interpolated, each for itself. Of their sum every part pays what halves have shown, at
        least the launch.

        Args:
            size: The sizes.
            others_busy: See `CalibratedCost`.
            at_work: Stretches all but the launch.
            pause: Comes in the place of the launch.
        """
        launch = self.at(self.launch, size)
        whole = self.at(self.run, size) + self.at(self.transfer, size)
        fixed = np.minimum(self.at(np.maximum(self.every_part, self.launch), size), whole)
        beside = 1.0 + others_busy * np.interp(np.log(size), np.log(self.size), self.slowdown)
        stretch = beside * at_work
        between = launch * beside if pause is None else pause
        return between + np.maximum(fixed - launch, 0.0) * stretch, (whole - fixed) * stretch

    def errors(self) -> list[float]:
        """Relative error of the whole time at every inner size when it is left out: plain cross-validation."""
        whole = self.run + self.transfer
        errors = []
        for i in range(1, len(self.size) - 1):
            ends, at = self.size[[i - 1, i + 1]], self.size[[i]]
            guess = sum(float(_between(ends, part[[i - 1, i + 1]], at)[0]) for part in (self.run, self.transfer))
            errors.append(float(abs(guess / whole[i] - 1.0)))
        return errors


def _between(known: FloatArray, values: FloatArray, size: FloatArray) -> FloatArray:
    logs = np.log(np.maximum(values, LEAST_SECONDS))
    found = np.exp(np.interp(np.log(size), np.log(known), logs))
    return np.where(found <= 2 * LEAST_SECONDS, 0.0, found)


@dataclass(frozen=True, slots=True)
class Noisy:
    """A kernel on a device whose times a size does not tell well.

    Attributes:
        kind: The kernel.
        device: The device.
        error: Median cross-validated error; None where sizes are too few.
        scatter: Median deviation of the logarithm of the time.
    """

    kind: str
    device: str
    error: float | None
    scatter: float

    def __str__(self) -> str:
        error = "unknown" if self.error is None else f"{100 * self.error:.0f} %"
        scatter = f"{100 * self.scatter:.0f} %"
        return f"{self.kind} on {self.device}: error {error}, scatter {scatter}: treat its times as noise"


class CalibratedCost:
    """Times of kernels as measured; a kind, device or size that was not measured is refused, never guessed.

    Args:
        measurements: What was measured.
        others_busy: The share of the time, 0 to 1, in which a task's device is taken to have busy neighbours, which
            slow it down as measured.
        at_work: By device, how many times as long as that a task in a stream runs there; 1 where nobody measured.
        pause: By device, the seconds between two tasks there while it has more to do, which come in the place of the
            launch; where nobody measured, they are the launch.
    """

    def __init__(
        self,
        measurements: Iterable[Measurement],
        others_busy: float = 0.0,
        at_work: Mapping[str, float] = MappingProxyType({}),
        pause: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        if not 0.0 <= others_busy <= 1.0:
            raise InvalidInputError(f"others_busy is {others_busy}, but it must be a share from 0 to 1")
        self.measurements = tuple(measurements)
        self.others_busy = others_busy
        grouped: dict[tuple[str, str], list[Measurement]] = {}
        for measurement in self.measurements:
            grouped.setdefault((measurement.kind, measurement.device), []).append(measurement)
        if not grouped:
            raise InvalidInputError("there are no measurements; calibrate at least one kernel of one size")
        self.curves: Mapping[tuple[str, str], Curve] = {key: Curve.of(rows) for key, rows in grouped.items()}
        for name, figures, allowed in (("at_work", at_work, AT_WORK), ("pause", pause, PAUSES)):
            for device, figure in figures.items():
                if device not in self.devices:
                    raise UnknownNameError(f"device of {name}", device, self.devices)
                within(f"{name} of {device}", figure, allowed.low, allowed.high)
        self.at_work, self.pause = dict(at_work), dict(pause)

    @property
    def moves_memory(self) -> bool:
        """See `CostModel.moves_memory`: the transfer is in the measured times."""
        return True

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kernels that were measured."""
        return tuple(dict.fromkeys(kind for kind, _ in self.curves))

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that were measured."""
        return tuple(dict.fromkeys(device for _, device in self.curves))

    def times(self, tasks: TaskBatch, cluster: ClusterSpec) -> FloatArray:
        """See `CostModel.times`."""
        result = np.zeros((len(tasks), 2, len(cluster.devices)))
        for index in np.unique(tasks.kind_index):
            rows = np.flatnonzero(tasks.kind_index == index)
            for column, device in enumerate(cluster.names):
                kind, size = tasks.kinds[index], tasks.size[rows]
                self._refuse_outside(tasks, rows, self._curve(kind, device), device)
                result[rows, FIXED, column], result[rows, SHARED, column] = self.times_on(device, kind, size)
        return result

    def times_on(self, device: str, kind: str, size: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`FIXED` and `SHARED` seconds of one kernel on one device, of sizes within those that were measured."""
        return self._curve(kind, device).times(
            size, self.others_busy, self.at_work.get(device, 1.0), self.pause.get(device)
        )

    def size_range(self, kinds: Sequence[str]) -> tuple[float, float]:
        """The sizes that were measured of all these kernels on every device.

        Raises:
            InvalidInputError: A kernel was not measured, or there is no such size.
        """
        curves = [self._curve(kind, device) for kind in kinds for device in self.devices]
        low, high = max(float(curve.size[0]) for curve in curves), min(float(curve.size[-1]) for curve in curves)
        if low > high:
            raise InvalidInputError(
                f"no size was measured of all of {', '.join(kinds)} on all devices; name kernels measured alike"
            )
        return low, high

    def errors(self) -> dict[str, dict[str, float | None]]:
        """Median cross-validated error by kind: over all devices (`all`), and on each; None where sizes are too few."""
        result: dict[str, dict[str, float | None]] = {}
        for kind in self.kinds:
            by_device = {d: self.curves[kind, d].errors() for d in self.devices if (kind, d) in self.curves}
            together = [error for errors in by_device.values() for error in errors]
            result[kind] = {"all": median(together) if together else None}
            result[kind].update({d: median(errors) if errors else None for d, errors in by_device.items()})
        return result

    def scatter(self) -> dict[str, dict[str, float]]:
        """Median deviation of the logarithm of the time, by kind and device: what a race would take for noise."""
        result: dict[str, dict[str, float]] = {}
        for (kind, device), curve in self.curves.items():
            result.setdefault(kind, {})[device] = float(np.median(curve.scatter))
        return result

    def noisy(self) -> list[Noisy]:
        """The kernels and devices whose error or scatter is above `NOISE`."""
        errors, scatter = self.errors(), self.scatter()
        every = [Noisy(kind, device, errors[kind][device], scatter[kind][device]) for kind, device in self.curves]
        return [each for each in every if max(each.error or 0.0, each.scatter) > NOISE]

    def noise(self) -> float:
        """The deviation of a typical kernel on a typical device: the median of `scatter`."""
        return median(found for devices in self.scatter().values() for found in devices.values())

    def _curve(self, kind: str, device: str) -> Curve:
        if kind not in self.kinds:
            raise UnknownNameError("calibrated kind", kind, self.kinds)
        if (kind, device) not in self.curves:
            raise InvalidInputError(
                f"{kind} was not measured on {device!r}, only on {', '.join(self.devices)}; calibrate that device"
            )
        return self.curves[kind, device]

    def _refuse_outside(self, tasks: TaskBatch, rows: IntArray, curve: Curve, device: str) -> None:
        size = tasks.size[rows]
        low, high = curve.size[0] * (1 - SLACK), curve.size[-1] * (1 + SLACK)
        outside = np.flatnonzero((size < low) | (size > high))
        if len(outside):
            row = rows[outside[0]]
            raise InvalidInputError(
                f"task {tasks.task_id[row]}: {tasks.kinds[tasks.kind_index[row]]} of size {tasks.size[row]:g} lies "
                f"outside what was measured on {device} ({curve.size[0]:g} to {curve.size[-1]:g}); calibrate that size"
            )
