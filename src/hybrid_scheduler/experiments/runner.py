"""Runs an experiment over its seeds and points, side by side, and goes on where an interrupted run stopped."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from threading import Event, Thread
from time import perf_counter

from hybrid_scheduler.experiments.base import Experiment, Point, Record, Unit
from hybrid_scheduler.experiments.folders import Job, run_jobs
from hybrid_scheduler.experiments.parts import FOLDER, Parts, part_name, prepared_name, write_part
from hybrid_scheduler.experiments.result import ExperimentResult
from hybrid_scheduler.hardware.workers import LocalWorkers, Workers
from hybrid_scheduler.model.errors import InvalidInputError

READY = "ready"
"""A file of this name says that what a seed's units share is complete."""
SAID, LISTEN_SECONDS = ".said", 1.0
"""How files end with what units say while they work; between two looks into them."""


def run_experiment(
    experiment: Experiment,
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    workers: Workers | None = None,
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
        workers: Where units run, instead of in processes of this machine; then `jobs` does not count. Same results.
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
    if experiment.alone and (jobs > 1 or workers is not None):
        raise InvalidInputError(
            f"experiment {experiment.name!r} measures this machine, where parts would disturb each other; run them one "
            "at a time (jobs 1), without other workers"
        )
    began = perf_counter()
    with ExitStack() as stack:
        home = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hms-experiment-")))
        parts = Parts(home / FOLDER, experiment, fresh=fresh)
        units = [
            (seed, point, (seed, number) == (seeds[0], 0))
            for number, point in enumerate(experiment.points())
            for seed in seeds
        ]
        missing = [unit for unit in units if not _finished(experiment, *unit, home, parts)]
        _tell(say or _silent, parts.started_over, len(units) - len(missing), len(units))
        prepares = type(experiment).prepare is not Experiment.prepare
        stages = [
            [_preparing(experiment, seed) for seed in dict.fromkeys(seed for seed, _, _ in missing)]
            if prepares
            else [],
            [_running(experiment, *unit, prepares, say is not None) for unit in missing],
        ]
        own = LocalWorkers(max(1, min(jobs, len(missing)))) if workers is None else nullcontext(workers)
        with _listening(parts.folder, say or _silent), own as chosen:
            _work(stages, home, chosen, progress or _nobody)
        parts.forget_prepared()
        records = tuple(_found(parts, seed, point) for seed, point, _ in units)
    return ExperimentResult(experiment, records, perf_counter() - began, len(units) - len(missing))


def _work(stages: list[list[Job]], home: Path, workers: Workers, progress: Callable[[int, int], None]) -> None:
    """Every job of a stage, then the next stage."""
    total, done = sum(map(len, stages)), 0
    progress(0, total)
    for stage in stages:
        for _ in run_jobs(stage, home, workers):
            done += 1
            progress(done, total)


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


def _preparing(experiment: Experiment, seed: int) -> Job:
    folder = Path(FOLDER, prepared_name(seed))
    return Job(_prepare, (experiment, seed), (folder,), folder / READY)


def _prepare(home: Path, experiment: Experiment, seed: int) -> None:
    folder = home / FOLDER / prepared_name(seed)
    if (folder / READY).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    experiment.prepare(seed, folder)
    (folder / READY).touch()


def _running(
    experiment: Experiment, seed: int, point: Point | None, own_files: bool, prepares: bool, heard: bool
) -> Job:
    needed = (Path(FOLDER, prepared_name(seed)),) if prepares else ()
    return Job(_run, (experiment, seed, point, own_files, heard), needed, Path(FOLDER, part_name(seed, point)))


def _run(home: Path, experiment: Experiment, seed: int, point: Point | None, own_files: bool, heard: bool) -> None:
    began, parts = perf_counter(), home / FOLDER
    part = parts / part_name(seed, point)
    said = parts / f"{part.name}{SAID}" if heard else None
    record = experiment.run(Unit(seed, point, parts / prepared_name(seed), home if own_files else None, said))
    if (record.seed, record.point) != (seed, point):
        raise InvalidInputError(
            f"experiment {experiment.name!r} gave a record of seed {record.seed}, point {record.point!r} when asked "
            f"for seed {seed}, point {point!r}; a record must carry its unit's seed and point"
        )
    clock = {**record.clock, "experiment": {"wall_seconds": perf_counter() - began}}
    write_part(part, Record(record.seed, record.figures, record.curves, record.samples, clock, record.point))


def _finished(
    experiment: Experiment, seed: int, point: Point | None, own_files: bool, home: Path, parts: Parts
) -> bool:
    """Whether a unit has left everything it should."""
    if own_files and not all((home / name).is_file() for name in experiment.extra_files):
        return False
    return parts.find(seed, point) is not None


def _found(parts: Parts, seed: int, point: Point | None) -> Record:
    record = parts.find(seed, point)
    if record is None:
        raise InvalidInputError(
            f"{parts.folder}: the part of seed {seed} was there and is gone; run the experiment again"
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
