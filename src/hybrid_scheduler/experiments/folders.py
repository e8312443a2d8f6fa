"""Jobs that read and write files of one folder, wherever they run: workers that do not see it get and return files."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hybrid_scheduler.experiments.parts import write_whole
from hybrid_scheduler.hardware.nodes.pickling import RemoteTraceback
from hybrid_scheduler.hardware.workers import Workers

Files = Mapping[str, bytes]
"""Contents by path within the folder."""


@dataclass(frozen=True, slots=True)
class Job:
    """A call of a function of a folder.

    Attributes:
        function: Its first argument is the folder.
        arguments: The others.
        needs: The folders in it whose files the job reads.
        proof: The file that it writes last, and that says that it is finished.
    """

    function: Callable[..., None]
    arguments: tuple[Any, ...]
    needs: tuple[Path, ...]
    proof: Path


def run_jobs(jobs: Sequence[Job], home: Path, workers: Workers) -> Iterator[Job]:
    """Every job as it ends; then its files are in the folder.

    Raises:
        Exception: What a job raised; what it had written by then is in the folder too.
    """
    if workers.share_files:
        for number, _ in workers.run([(job.function, (home, *job.arguments)) for job in jobs]):
            yield jobs[number]
        return
    sent = {needs: workers.share(_read(home, needs)) for needs in dict.fromkeys(job.needs for job in jobs)}
    calls = [(_alone, (sent[job.needs], job.proof, job.function, *job.arguments)) for job in jobs]
    for number, (files, error, where) in workers.run(calls):
        job = jobs[number]
        for name in sorted(files, key=lambda name: name == str(job.proof)):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(home / name, files[name])
        if error is not None:
            raise error from RemoteTraceback(where)
        yield job


def _alone(
    given: Files, proof: Path, function: Callable[..., None], *arguments: Any
) -> tuple[Files, Exception | None, str]:
    """Run a job in a folder of its own; gives what it wrote there, what it raised, and the traceback of that."""
    with TemporaryDirectory(prefix="hms-experiment-") as name:
        home, error, where = Path(name), None, ""
        for each in (*given, str(proof)):
            (home / each).parent.mkdir(parents=True, exist_ok=True)
        for path, contents in given.items():
            (home / path).write_bytes(contents)
        try:
            function(home, *arguments)
        except Exception as raised:  # noqa: BLE001  (it is raised where the job was sent from)
            error, where = raised, traceback.format_exc()
        wrote = _read(home, (Path(),))
    return {path: contents for path, contents in wrote.items() if given.get(path) != contents}, error, where


def _read(home: Path, folders: Sequence[Path]) -> Files:
    found = (Path(at, file) for folder in folders for at, _, files in os.walk(home / folder) for file in files)
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(found)}
