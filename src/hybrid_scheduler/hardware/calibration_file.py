"""A calibrated machine on disk: `node.yaml` with its devices, and a table of measurements beside it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import SIZES, Range
from hybrid_scheduler.physics.calibrated import CalibratedCost, Measurement
from hybrid_scheduler.workloads.csv_columns import number_parser
from hybrid_scheduler.workloads.readers.columns import parse_texts, read_columns

COLUMNS = ("kind", "size", "device", "launch_s", "compute_s", "transfer_s", "scatter")
NOT_NEGATIVE = Range(0.0, 1e9)
PARSERS = {
    "kind": parse_texts,
    "size": number_parser(SIZES),
    "device": parse_texts,
    **{name: number_parser(NOT_NEGATIVE) for name in COLUMNS[3:]},
}


def write_calibration(path: Path, measurements: Iterable[Measurement]) -> None:
    """Write the table of measurements.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    try:
        with path.open("w", encoding="utf-8", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(
                (m.kind, m.size, m.device, m.launch, m.compute, m.transfer, m.scatter) for m in measurements
            )
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be written: {error.strerror or error}") from error


def read_calibration(path: Path) -> CalibratedCost:
    """The cost model of a table of measurements.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    file = read_columns(path, PARSERS)
    rows = zip(*(_plain(file.columns[name]) for name in COLUMNS), strict=True)
    measurements = [Measurement(*row) for row in rows]
    for number, measurement in enumerate(measurements):
        if not measurement.seconds > 0.0:
            raise file.error(number, "compute_s", "the times of a measurement must add up to more than 0 seconds")
    return CalibratedCost(measurements)


def _plain(column: Sequence[object] | np.ndarray) -> list[object]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)
