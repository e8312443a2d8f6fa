"""How far an experiment is, in a small file: `hms experiment --progress-file` writes it, the service reads it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hybrid_scheduler.experiments.parts import write_whole


@dataclass(frozen=True)
class Progress:
    """How far an experiment is.

    Attributes:
        done: Pieces of work that are finished, this time.
        total: Of how many; 0 until it is known.
        seconds_left: An estimate at the moment of reading; None while there is nothing to go by.
        run_id: Number of its run in the store; None when it is not stored.
        files: Names of what it wrote; empty until all is written.
    """

    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    run_id: int | None = None
    files: tuple[str, ...] = ()


class ProgressFile:
    """Writes the file, whole every time."""

    def __init__(self, path: Path, run_id: int | None) -> None:
        self._path, self._began = path, time.monotonic()
        self._last = Progress(run_id=run_id)
        self._write(self._last)

    def tell(self, done: int, total: int) -> None:
        """So much is done, of so much; for `run_experiment`."""
        pace = (time.monotonic() - self._began) / done if done else None
        left = None if pace is None else pace * (total - done)
        self._write(Progress(done, total, left, self._last.run_id))

    def finish(self, files: Sequence[Path]) -> None:
        """All is written."""
        last = self._last
        self._write(Progress(last.done, last.total, 0.0, last.run_id, tuple(file.name for file in files)))

    def _write(self, progress: Progress) -> None:
        self._last = progress
        write_whole(self._path, json.dumps({**asdict(progress), "written": time.time()}).encode())


def read_progress(path: Path) -> Progress:
    """What the file says; nothing is done as long as there is none."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Progress()
    left, age = document["seconds_left"], time.time() - document.pop("written")
    document["seconds_left"] = None if left is None else max(0.0, left - age)
    return Progress(**{**document, "files": tuple(document["files"])})
