"""Finished units on disk, so that an interrupted experiment goes on where it stopped.

Every unit is one file, written beside its place and then renamed: it is there as a whole or not at all. The folder says
which experiment, configuration and state of the sources its parts belong to; parts of another are no use and go.
"""

from __future__ import annotations

import json
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from importlib.metadata import version
from inspect import getfile
from pathlib import Path

import numpy as np

from hybrid_scheduler.experiments.base import Arrays, Experiment, Point, Record
from hybrid_scheduler.model.task import FloatArray

FOLDER = "parts"
STAMP = "experiment.json"
ROOMS = (
    "model",
    "physics",
    "cluster",
    "learning",
    "schedulers",
    "workloads",
    "metrics",
    "engine",
    "scenario",
    "training",
)
"""Where records come from besides the experiment's own file; an edit there starts an experiment over."""
ARRAYS = ("curves", "samples")


class Parts:
    """The finished units of one experiment in one folder.

    Attributes:
        folder: Where they lie.
        started_over: Whether there were parts of another configuration, which are gone now.
    """

    def __init__(self, folder: Path, experiment: Experiment, *, fresh: bool = False) -> None:
        self.folder = folder
        stamp = fingerprint(experiment)
        stored = _read_stamp(folder)
        self.started_over = stored is not None and stored != stamp
        if fresh or stored != stamp:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / STAMP, json.dumps(stamp, indent=2).encode())

    def find(self, seed: int, point: Point | None) -> Record | None:
        """The record of a unit that is finished, or None."""
        path = self.folder / part_name(seed, point)
        return read_part(path) if path.is_file() else None

    def forget_prepared(self) -> None:
        """When all units are finished, what they shared is no longer needed."""
        for folder in self.folder.glob(prepared_name("*")):
            shutil.rmtree(folder, ignore_errors=True)


def fingerprint(experiment: Experiment) -> dict[str, object]:
    """What a record depends on besides its seed and point."""
    package = Path(__file__).parents[1]
    digest = blake2b(digest_size=12)
    own = {Path(getfile(base)) for base in type(experiment).__mro__ if issubclass(base, Experiment)}
    rooms = {file for room in ROOMS for file in (package / room).rglob("*") if file.is_file()}
    for file in sorted(own | {file for file in rooms if "__pycache__" not in file.parts}):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return {
        "experiment": experiment.name,
        "version": version("hybrid-ml-scheduler"),
        "sources": digest.hexdigest(),
        "configuration": json.loads(json.dumps(experiment.configuration(), default=str)),
    }


def part_name(seed: int, point: Point | None) -> str:
    """The file of a unit."""
    return f"seed-{seed}.npz" if point is None else f"seed-{seed}-{point}.npz"


def prepared_name(seed: int | str) -> str:
    """The folder of what a seed's units share."""
    return f"prepared-{seed}"


def write_part(path: Path, record: Record) -> None:
    """Write a record as a NumPy archive; reading it runs no code."""
    header = {
        "seed": record.seed,
        "point": record.point,
        "figures": record.figures,
        "clock": record.clock,
        "arrays": [entry for entry, _ in _arrays(record)],
    }
    columns = {f"a{k}": values for k, (_, values) in enumerate(_arrays(record))}
    beside = path.with_suffix(".unfinished")
    with beside.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, header=np.array(json.dumps(header)), **columns)
    beside.replace(path)


def read_part(path: Path) -> Record | None:
    """Read a record; None when the file is damaged, because a unit can always be done again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            header = json.loads(str(archive["header"]))
            arrays: dict[str, dict[str, dict[str, FloatArray]]] = {kind: {} for kind in ARRAYS}
            for k, (kind, name, column) in enumerate(header["arrays"]):
                arrays[kind].setdefault(name, {})[column] = archive[f"a{k}"]
            return Record(header["seed"], header["figures"], clock=header["clock"], point=header["point"], **arrays)
    except (zipfile.BadZipFile, zlib.error, EOFError, LookupError, ValueError, TypeError, RuntimeError, OSError):
        return None


def _arrays(record: Record) -> Iterator[tuple[tuple[str, str, str], FloatArray]]:
    for kind in ARRAYS:
        named: Arrays = getattr(record, kind)
        for name, columns in named.items():
            for column, values in columns.items():
                yield (kind, name, column), values


def _read_stamp(folder: Path) -> Mapping[str, object] | None:
    try:
        stamp: Mapping[str, object] = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return stamp


def write_whole(path: Path, contents: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    beside = path.with_name(path.name + ".unfinished")
    beside.write_bytes(contents)
    beside.replace(path)
