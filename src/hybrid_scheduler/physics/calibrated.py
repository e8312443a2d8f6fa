"""The cost model of a machine that was measured: seconds by kind, size and device, between sizes by interpolation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.task import FloatArray, IntArray, TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.device import ClusterSpec

LEAST_SECONDS = 1e-12
SLACK = 1e-9
"""How far a size may lie outside those measured, relatively: a size that was written and read is the same size."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One kernel of one size on one device: medians in seconds.

    Attributes:
        kind: Which kernel.
        size: Its size.
        device: The device's name.
        launch: What every part pays whatever its share.
        compute: Computing, with the data there.
        transfer: The way of the data to the device and back; 0 on a CPU.
        scatter: Deviation of the logarithm of the time over repeated runs.
    """

    kind: str
    size: float
    device: str
    launch: float
    compute: float
    transfer: float = 0.0
    scatter: float = 0.0

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

    @classmethod
    def of(cls, measurements: Iterable[Measurement]) -> Curve:
        """Sort and pack."""
        rows = sorted(measurements, key=lambda m: m.size)
        columns = [np.array([getattr(row, name) for row in rows]) for name in cls.__dataclass_fields__]
        return cls(*columns)

    def at(self, values: FloatArray, size: FloatArray) -> FloatArray:
        """One column at other sizes: linear in the logarithms of size and value."""
        logs = np.log(np.maximum(values, LEAST_SECONDS))
        found = np.exp(np.interp(np.log(size), np.log(self.size), logs))
        return np.where(found <= 2 * LEAST_SECONDS, 0.0, found)

    def errors(self) -> list[float]:
        """Relative error of the whole time at every inner size when it is left out: plain cross-validation."""
        whole = np.log(np.maximum(self.launch + self.compute + self.transfer, LEAST_SECONDS))
        x = np.log(self.size)
        errors = []
        for i in range(1, len(x) - 1):
            between = np.interp(x[i], x[[i - 1, i + 1]], whole[[i - 1, i + 1]])
            errors.append(float(abs(np.expm1(between - whole[i]))))
        return errors


class CalibratedCost:
    """Times of kernels as measured; a kind, device or size that was not measured is refused, never guessed.

    Args:
        measurements: What was measured.
    """

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        self.measurements = tuple(measurements)
        grouped: dict[tuple[str, str], list[Measurement]] = {}
        for measurement in self.measurements:
            grouped.setdefault((measurement.kind, measurement.device), []).append(measurement)
        if not grouped:
            raise InvalidInputError("there are no measurements; calibrate at least one kernel of one size")
        self.curves: Mapping[tuple[str, str], Curve] = {key: Curve.of(rows) for key, rows in grouped.items()}

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
                curve = self._curve(tasks.kinds[index], device)
                size = tasks.size[rows]
                self._refuse_outside(tasks, rows, curve, device)
                result[rows, FIXED, column] = curve.at(curve.launch, size)
                result[rows, SHARED, column] = curve.at(curve.compute, size) + curve.at(curve.transfer, size)
        return result

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
