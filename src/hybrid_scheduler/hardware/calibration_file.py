"""A calibrated machine on disk: `node.yaml` with its devices, and a table of measurements beside it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import SIZES, Range
from hybrid_scheduler.physics.calibrated import CalibratedCost, Measurement
from hybrid_scheduler.physics.device import Device
from hybrid_scheduler.workloads.csv_columns import number_parser
from hybrid_scheduler.workloads.readers.columns import parse_texts, read_columns

COLUMNS = {
    "kind": "kind",
    "size": "size",
    "device": "device",
    "launch_s": "launch",
    "compute_s": "compute",
    "transfer_s": "transfer",
    "scatter": "scatter",
    "slowdown": "slowdown",
    "every_part_s": "every_part",
}
"""The columns of the table, and the attribute of `Measurement` that each holds."""
OPTIONAL = "every_part_s"
"""A table of before this was measured is still read."""
NOT_NEGATIVE = Range(0.0, 1e9)
PARSERS = {
    "kind": parse_texts,
    "size": number_parser(SIZES),
    "device": parse_texts,
    **{name: number_parser(NOT_NEGATIVE) for name in list(COLUMNS)[3:]},
}


def write_machine(path: Path, machine: CalibratedMachine) -> Path:
    """Write the node and, beside it, its table of measurements, whose path is given back.

    Raises:
        InvalidInputError: A file cannot be written.
    """
    table = path.with_name(path.name + ".csv")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_calibration(table, machine.measurements)
        path.write_text(_node_text(machine, table.name), encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be written: {error.strerror or error}") from error
    return table


def write_calibration(path: Path, measurements: Iterable[Measurement]) -> None:
    """Write the table of measurements.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    try:
        with path.open("w", encoding="utf-8", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([getattr(m, name) for name in COLUMNS.values()] for m in measurements)
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be written: {error.strerror or error}") from error


def read_calibration(
    path: Path,
    others_busy: float = 0.0,
    at_work: Mapping[str, float] = MappingProxyType({}),
    pause: Mapping[str, float] = MappingProxyType({}),
) -> CalibratedCost:
    """The cost model of a table of measurements; the rest is as for `CalibratedCost`.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    file = read_columns(path, PARSERS, optional=(OPTIONAL,))
    there = {name: attribute for name, attribute in COLUMNS.items() if name in file.columns}
    rows = zip(*(_plain(file.columns[name]) for name in there), strict=True)
    measurements = [Measurement(**dict(zip(there.values(), row, strict=True))) for row in rows]
    for number, measurement in enumerate(measurements):
        if not measurement.seconds > 0.0:
            raise file.error(number, "compute_s", "the times of a measurement must add up to more than 0 seconds")
    return CalibratedCost(measurements, others_busy, at_work, pause)


def _plain(column: Sequence[object] | np.ndarray) -> list[object]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _node_text(machine: CalibratedMachine, table: str) -> str:
    """The node file: what was measured as figures, what was not as a comment."""
    lines = ["# Written by hms calibrate. Prices are the defaults until you correct them."]
    for device in machine.cluster.devices:
        missing = machine.not_measured(device)
        if missing:
            lines.append(f"# {device.name}: {', '.join(missing)} not measured: the defaults.")
    lines.append("devices:")
    lines += [f"  - {{{_device_text(machine, device)}}}" for device in machine.cluster.devices]
    lines.append(f"calibration: {table}")
    if machine.others_busy:
        lines.append("# Devices share cores' memory and links: how much of the time the others are taken to be busy.")
        lines.append(f"others_busy: {machine.others_busy:g}")
    if machine.at_work:
        lines.append("# How many times as long as that tasks ran on each device in a stream.")
        lines.append(f"at_work: {_by_device(machine.at_work)}")
    if machine.pause:
        lines.append("# Seconds between two tasks of a stream while a device had more to do, instead of the launch.")
        lines.append(f"pause: {_by_device(machine.pause)}")
    lines.append("physics:")
    lines.append("  # The median scatter of repeated runs.")
    lines.append(f"  noise: {machine.noise:.4g}")
    if machine.together is not None:
        lines.append(f"  # {machine.together}")
        lines.append(f"  coexecution_penalty: {machine.together.penalty:.4g}")
    else:
        lines.append("  # coexecution_penalty was not measured (nothing was split): the default.")
    return "\n".join([*lines, ""])


def _by_device(figures: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{device}: {figure:.4g}" for device, figure in figures.items()) + "}"


def _device_text(machine: CalibratedMachine, device: Device) -> str:
    figures = ", ".join(f"{name}: {getattr(device, name):.6g}" for name in machine.figures_of(device))
    return f"name: {device.name}, kind: {device.kind}" + (f", {figures}" if figures else "")
