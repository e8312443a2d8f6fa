"""Runs an experiment over its seeds and points, side by side, and goes on where an interrupted run stopped."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from threading import Event, Thread
from time import perf_counter

from hybrid_scheduler.experiments.base import Experiment, Record, Unit
from hybrid_scheduler.experiments.parts import FOLDER, Parts, part_name
from hybrid_scheduler.experiments.result import ExperimentResult
from hybrid_scheduler.model.errors import InvalidInputError

Job = tuple[Callable[..., None], tuple[object, ...]]
READY = "ready"
"""A file of this name says that what a seed's units share is complete."""
SAID, LISTEN_SECONDS = ".said", 1.0
"""How files end with what units say while they work; between two looks into them."""


def run_experiment(
    experiment: Experiment,
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    folder: Path | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> ExperimentResult:
    """Run an experiment once per seed and point.

    Args:
        experiment: What to run.
        seeds: The seeds; their order is that of the results.
        jobs: How many units at a time, each in a process of its own when it is more than one. Same results.
        folder: Where finished units and the experiment's own files are kept; what is finished there is not done again.
            None: nothing is kept.
        fresh: Do everything again.
        progress: Told how many pieces of work are done, and of how many, from none on.
        say: Told what a person should know: that a run goes on, or why it starts over.

    Raises:
        InvalidInputError: There are no seeds, a seed comes twice, or the experiment cannot be run as configured.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise InvalidInputError(f"seeds are {list(seeds)}, but there must be at least one and none twice")
    if jobs < 1:
        raise InvalidInputError(f"jobs is {jobs}, but it must be at least 1")
    began = perf_counter()
    with ExitStack() as stack:
        home = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hms-experiment-")))
        parts = Parts(home / FOLDER, experiment, fresh=fresh)
        units = [
            Unit(
                seed,
                point,
                parts.prepared(seed),
                home if (seed, number) == (seeds[0], 0) else None,
                None if say is None else parts.folder / f"{part_name(seed, point)}{SAID}",
            )
            for number, point in enumerate(experiment.points())
            for seed in seeds
        ]
        missing = [unit for unit in units if not _finished(experiment, unit, parts)]
        _tell(say or _silent, parts.started_over, len(units) - len(missing), len(units))
        stages: list[list[Job]] = [
            [(_prepare, (experiment, seed, parts.prepared(seed))) for seed in dict.fromkeys(u.seed for u in missing)],
            [(_run, (experiment, unit, parts)) for unit in missing],
        ]
        if type(experiment).prepare is Experiment.prepare:
            stages.pop(0)
        with _listening(parts.folder, say or _silent):
            _work(stages, jobs, progress or _nobody)
        parts.forget_prepared()
        records = tuple(_found(parts, unit) for unit in units)
    return ExperimentResult(experiment, records, perf_counter() - began, len(units) - len(missing))


def _work(stages: list[list[Job]], jobs: int, progress: Callable[[int, int], None]) -> None:
    """Every job of a stage, then the next stage."""
    total, done = sum(map(len, stages)), 0
    progress(0, total)
    workers = min(jobs, max(map(len, stages)))
    if workers <= 1:
        for function, arguments in (job for stage in stages for job in stage):
            function(*arguments)
            done += 1
            progress(done, total)
        return
    # Fresh processes: a forked one would inherit the threads of PyTorch and numba in an unknown state.
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_with_parent)
    try:
        for stage in stages:
            for future in as_completed([pool.submit(function, *arguments) for function, arguments in stage]):
                future.result()
                done += 1
                progress(done, total)
    except BaseException:
        # When one has failed, the others are in vain; in compiled code they hear nothing for minutes.
        for worker in set(active_children()) - others:
            worker.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _listening(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hand on what units say (`Unit.say`), in whichever process they work, soon after they said it."""
    for old in folder.glob(f"*{SAID}"):
        old.unlink()
    heard: dict[Path, int] = {}
    ended = Event()

    def look() -> None:
        for path in sorted(folder.glob(f"*{SAID}")):
            lines = path.read_text(encoding="utf-8").split("\n")[:-1]
            for line in lines[heard.get(path, 0) :]:
                say(line)
            heard[path] = len(lines)

    def listen() -> None:
        while not ended.wait(LISTEN_SECONDS):
            look()

    listener = Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        ended.set()
        listener.join()
        look()
        for path in heard:
            path.unlink()


def _leave_with_parent() -> None:
    """A worker whose parent was killed would wait for work forever; it leaves instead."""
    parent = parent_process()
    if parent is not None:
        Thread(target=_leave_after, args=(parent.sentinel,), daemon=True).start()


def _leave_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _prepare(experiment: Experiment, seed: int, folder: Path) -> None:
    if (folder / READY).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    experiment.prepare(seed, folder)
    (folder / READY).touch()


def _run(experiment: Experiment, unit: Unit, parts: Parts) -> None:
    began = perf_counter()
    record = experiment.run(unit)
    if (record.seed, record.point) != (unit.seed, unit.point):
        raise InvalidInputError(
            f"experiment {experiment.name!r} gave a record of seed {record.seed}, point {record.point!r} when asked "
            f"for seed {unit.seed}, point {unit.point!r}; a record must carry its unit's seed and point"
        )
    clock = {**record.clock, "experiment": {"wall_seconds": perf_counter() - began}}
    parts.keep(Record(record.seed, record.figures, record.curves, record.samples, clock, record.point))


def _finished(experiment: Experiment, unit: Unit, parts: Parts) -> bool:
    """Whether a unit has left everything it should."""
    if unit.folder is not None and not all((unit.folder / name).is_file() for name in experiment.extra_files):
        return False
    return parts.find(unit.seed, unit.point) is not None


def _found(parts: Parts, unit: Unit) -> Record:
    record = parts.find(unit.seed, unit.point)
    if record is None:
        raise InvalidInputError(
            f"{parts.folder}: the part of seed {unit.seed} was there and is gone; run the experiment again"
        )
    return record


def _tell(say: Callable[[str], None], started_over: bool, done: int, total: int) -> None:
    if started_over:
        say("the folder held parts of another configuration or version; starting over")
    elif done:
        say(f"{done} of {total} parts were finished earlier; going on from there")


def _silent(message: str) -> None:
    """Nobody listens."""


def _nobody(done: int, total: int) -> None:
    """Nobody watches."""
