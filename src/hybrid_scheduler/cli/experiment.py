"""`hms experiment`: a named experiment over several seeds."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from hybrid_scheduler.config import Config
    from hybrid_scheduler.experiments.base import Experiment
    from hybrid_scheduler.experiments.progress_file import ProgressFile
    from hybrid_scheduler.experiments.result import ExperimentResult, PointResult
    from hybrid_scheduler.experiments.statistics import Estimate
    from hybrid_scheduler.hardware.workers import Workers

DEFAULT_OUT = Path("data/results")
LOOK_SECONDS, PATIENCE = 0.5, 3.0
"""Between two looks whether a watched process is there; for it to end by itself when its standard input has ended."""
LONG = 6 * 3600.0
"""Seconds of the past that the time left is estimated from: one part may take minutes."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="Which experiment, e.g. shift.", show_default=False)]
Seeds = Annotated[
    int | None,
    options.optional("How many seeds; default the experiment's own, 5 or 10.", "K", options.whole(1, 10_000)),
]
FirstSeed = Annotated[
    int, typer.Option(parser=options.whole(0, 2**62), metavar="N", help="The first seed; the others follow it.")
]
Tasks = Annotated[int | None, options.count("Tasks per seed; default the experiment's own.", 1, 10**6)]
TrainTasks = Annotated[
    int | None, options.count("Tasks learners are trained on; default the experiment's own.", 1, 10**6)
]
Scheduler = Annotated[str | None, options.optional("adversarial: whose weak spots; default hybrid_queue.", "NAME")]
Against = Annotated[str | None, options.optional("adversarial: measured by whom; default mct.", "NAME")]
Metric = Annotated[
    Literal["avg_response", "makespan", "p99_response"] | None,
    options.optional("adversarial: by which figure; default avg_response."),
]
Seconds = Annotated[
    float | None,
    options.optional("adversarial: seconds of each search, one per seed; default 600.", "S", options.real(0)),
]
Generations = Annotated[
    int | None,
    options.count("adversarial: generations of each search instead of seconds; the same every time.", 0, 10**6),
]
Cluster = Annotated[
    Path | None,
    options.optional(
        "reality: this machine as hms calibrate has described it; default: it is calibrated first.", "FILE"
    ),
]
Lanes = Annotated[
    int | None,
    options.count("reality: worker processes that share the cores; default two, or one beside GPUs.", 1, 1024),
]
Load = Annotated[
    float | None,
    options.optional("reality: share of the machine's capacity; default 0.6.", "X", options.real(0, 1, open_low=True)),
]
Jobs = Annotated[
    int | None,
    options.count("Parts that run at a time; default one per processor (of the cluster). Same results.", 1, 1024),
]
Out = Annotated[Path | None, options.optional("Folder for the files; default data/results/NAME.", "DIR")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Do everything again, also what an earlier run has finished.")]
NoStore = Annotated[bool, typer.Option("--no-store", help="Do not keep the run in the store.")]
ProgressPath = Annotated[Path | None, options.optional("Keep writing how far it is, as JSON.", "FILE")]
EndWithInput = Annotated[
    bool,
    typer.Option("--end-with-input", hidden=True, help="Stop when standard input ends: whoever started it is gone."),
]


def experiment(
    name: Name,
    seeds: Seeds = None,
    seed: FirstSeed = 1,
    tasks: Tasks = None,
    train_tasks: TrainTasks = None,
    split: options.Split = None,
    scheduler: Scheduler = None,
    against: Against = None,
    metric: Metric = None,
    seconds: Seconds = None,
    generations: Generations = None,
    cluster: Cluster = None,
    lanes: Lanes = None,
    load: Load = None,
    jobs: Jobs = None,
    node: options.Workers = "machine",
    out: Out = None,
    fresh: Fresh = False,
    no_store: NoStore = False,
    progress_file: ProgressPath = None,
    end_with_input: EndWithInput = False,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Run a named, reproducible experiment over several seeds.

    Gives means with 95 % intervals and paired comparisons, and writes JSON, CSV, Parquet, plots and a report. A run
    that was interrupted goes on where it stopped. It is kept as a run in the store, if there is one.
    """
    if end_with_input:
        _watch_input()
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, note_first_use, write_json

    note_first_use()
    from hybrid_scheduler.cli.kept_experiment import kept_experiment
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.experiments.progress_file import ProgressFile
    from hybrid_scheduler.experiments.registry import find_experiment
    from hybrid_scheduler.experiments.runner import run_experiment

    experiment = find_experiment(name)
    chosen = _configured(
        experiment,
        load_config(config),
        split,
        tasks=tasks,
        train_tasks=train_tasks,
        scheduler=scheduler,
        against=against,
        metric=metric,
        seconds=seconds,
        generations=generations,
        cluster=cluster,
        cpu_lanes=lanes,
        load=load,
    )
    folder = out or DEFAULT_OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(json)
    check_writable(str(folder / "result.json"))
    check_writable(None if progress_file is None else str(progress_file))
    seed_list = range(seed, seed + (experiment.default_seeds if seeds is None else seeds))
    with kept_experiment(chosen, seed_list, folder, wanted=not no_store) as kept:
        told = None if progress_file is None else ProgressFile(progress_file, kept.run_id)
        with _progress(told) as progress, _workers(chosen, node, jobs) as workers:
            result = run_experiment(
                chosen, seed_list, workers=workers, folder=folder, fresh=fresh, progress=progress, say=note
            )
        files = _write(result, folder)
        if json is not None:
            write_json(json, result.to_json())
        kept.take(result, files)
    if told is not None:
        told.finish(files)
    if json != STANDARD_OUTPUT:
        _show(result, folder, files, kept.where)


def _watch_input() -> None:
    """End with standard input, or with the process that reads it: whoever started this is gone.

    A process of its own watches, because compiled code lets neither threads nor signal handlers run, for minutes. It
    does as Ctrl-C does, to the workers too where the group is our own; what has not ended then is killed.
    """
    own = os.getpid()
    if os.fork() > 0:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while os.getppid() == own:
        if select.select([0], [], [], LOOK_SECONDS)[0] and not os.read(0, 1024):
            break
    end, until = os.killpg if os.getpgrp() == own else os.kill, time.monotonic() + PATIENCE
    with suppress(ProcessLookupError):
        end(own, signal.SIGINT)
        while os.getppid() == own and time.monotonic() < until:
            time.sleep(0.05)
        end(own, signal.SIGKILL)
    os._exit(0)


@contextmanager
def _progress(file: ProgressFile | None) -> Iterator[Callable[[int, int], None] | None]:
    """The file, or a bar with the time left on standard error when somebody is watching; what the runner reports to."""
    if file is not None or not sys.stderr.isatty():
        yield None if file is None else file.tell
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    words = (TextColumn("parts"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*words, console=Console(stderr=True), transient=True, speed_estimate_period=LONG) as bar:
        shown = bar.add_task("", total=None)
        yield lambda done, total: bar.update(shown, completed=done, total=total)


def _workers(experiment: Experiment, node: str, jobs: int | None) -> AbstractContextManager[Workers | None]:
    """Where the parts run; one that measures this machine runs them one at a time.

    Raises:
        InvalidInputError: It does, and another node is asked for, or there is no such node.
    """
    from hybrid_scheduler.cli.output import note
    from hybrid_scheduler.hardware.workers import find_workers
    from hybrid_scheduler.model.errors import InvalidInputError

    if not experiment.alone:
        return find_workers(node, jobs)
    if node != "machine":
        raise InvalidInputError(f"node is {node!r}, but experiment {experiment.name!r} measures this machine")
    if jobs not in (None, 1):
        note(f"{experiment.name} measures this machine, so its parts run one at a time: jobs is 1, not {jobs}")
    return nullcontext()


def _configured(
    experiment: type[Experiment],
    settings: Config,
    split: Literal["concurrent", "serial"] | None,
    **asked: Any,
) -> Experiment:
    """The experiment as asked for: command line, environment, file, in this order.

    Raises:
        InvalidInputError: Something is asked for that this experiment does not have.
    """
    from hybrid_scheduler.model.errors import InvalidInputError
    from hybrid_scheduler.scenario import ScenarioOptions

    given = {name: value for name, value in asked.items() if value is not None}
    known = {field.name for field in fields(experiment)}
    for name, value in given.items():
        if name not in known:
            raise InvalidInputError(f"{name} is {value}, but experiment {experiment.name!r} has none; leave it out")
    registered = {experiment.variants.get(name, (name, {}))[0] for name in experiment.schedulers}
    registered |= {str(given[name]) for name in ("scheduler", "against") if name in given}
    return experiment(
        world=ScenarioOptions(split=split).world(settings),
        parameters={name: settings.parameters(name) for name in sorted(registered)},
        **given,
    )


def _write(result: ExperimentResult, folder: Path) -> list[Path]:
    """The data, and plots and report where the extras for them are there; gives the files."""
    from hybrid_scheduler.cli.output import note
    from hybrid_scheduler.experiments.files import write_result
    from hybrid_scheduler.reports.report import missing_extras, write_report
    from hybrid_scheduler.reports.run_folder import open_run

    files = write_result(result, folder)
    if missing := missing_extras():
        note(f"no plots, no report: {missing}")
        return files
    return files + write_report(open_run(folder))


def _show(result: ExperimentResult, folder: Path, files: list[Path], where: str) -> None:
    from rich.console import Console

    console, parameter = Console(highlight=False), result.experiment.parameter
    console.print(result.experiment.question, style="bold", soft_wrap=True)
    for point in result.points:
        if parameter is not None:
            console.print(f"{parameter} {point.point}", style="bold")
        console.print(_figures(point))
        for metric in result.experiment.compared if point.comparisons else ():
            console.print(_comparisons(point, metric))
    document = result.to_json()
    for remark in result.remarks:
        console.print(remark, soft_wrap=True, markup=False)
    console.print(f"intervals: {document['intervals']}", style="dim", soft_wrap=True)
    console.print(f"verdicts: {document['verdicts']}", style="dim", soft_wrap=True)
    names = ", ".join(path.name for path in files)
    kept = f"; kept as {where}" if where else ""
    console.print(f"took {result.wall_seconds:.1f} s, wrote in {folder}: {names}{kept}", soft_wrap=True, markup=False)


def _figures(point: PointResult) -> Table:
    """One row per scheduler, the best by the first compared metric on top."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from hybrid_scheduler.experiments.figures import figure_info

    estimates, key = point.estimates, point.experiment.compared[0]
    shown = point.experiment.shown
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("scheduler", no_wrap=True)
    for metric in shown:
        table.add_column(figure_info(metric).head, justify="right", no_wrap=True)
    most = bool(figure_info(key).bigger_is_better)
    for name in sorted(point.experiment.schedulers, key=lambda name: estimates[name][key].mean, reverse=most):
        table.add_row(name, *(_in_words(estimates[name].get(metric), metric == key) for metric in shown))
    return table


def _comparisons(point: PointResult, metric: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("scheduler", "compared with", f"by {metric}", "verdict"):
        table.add_column(title, justify="right" if title.startswith("by") else "left", no_wrap=True)
    for comparison in point.comparisons:
        if comparison.metric == metric:
            between = "" if comparison.low is None else f" [{comparison.low:.3g}, {comparison.high:.3g}]"
            table.add_row(comparison.a, comparison.b, f"{comparison.difference:+.3g}{between}", comparison.verdict)
    return table


def _in_words(figure: Estimate | None, with_interval: bool) -> str:
    if figure is None:
        return "–"
    if not with_interval or figure.low is None:
        return f"{figure.mean:.4g}"
    return f"{figure.mean:.4g} [{figure.low:.3g}, {figure.high:.3g}]"
