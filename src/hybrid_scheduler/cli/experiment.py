"""`hms experiment`: a named experiment over several seeds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from hybrid_scheduler.config import Config
    from hybrid_scheduler.experiments.base import Experiment
    from hybrid_scheduler.experiments.runner import ExperimentResult
    from hybrid_scheduler.experiments.statistics import Estimate

DEFAULT_OUT = Path("data/results")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Which experiment, e.g. shift.", show_default=False)]
Seeds = Annotated[
    int | None,
    typer.Option(parser=options.whole(1, 10_000), metavar="K", help="How many seeds; default 10.", show_default=False),
]
FirstSeed = Annotated[
    int, typer.Option(parser=options.whole(0, 2**62), metavar="N", help="The first seed; the others follow it.")
]
Tasks = Annotated[
    int | None,
    typer.Option(parser=options.whole(1, 10**6), metavar="N", help="Tasks per seed; default the experiment's own."),
]
TrainTasks = Annotated[
    int | None,
    typer.Option(parser=options.whole(1, 10**6), metavar="N", help="Tasks learners are trained on; default 5000."),
]
Split = Annotated[
    Literal["concurrent", "serial"] | None,
    typer.Option(help="Parts of a split task: at the same time (default) or one after the other.", show_default=False),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(1, 1024),
        metavar="N",
        help="Seeds that run at a time; default one per processor. Same results.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for the files; default data/results/NAME.", show_default=False),
]


def experiment(
    name: Name,
    seeds: Seeds = None,
    seed: FirstSeed = 1,
    tasks: Tasks = None,
    train_tasks: TrainTasks = None,
    split: Split = None,
    jobs: Jobs = None,
    out: Out = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Run a named, reproducible experiment over several seeds.

    Gives means with 95 % intervals and paired comparisons, and writes JSON, CSV and plots.
    """
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, progress_bar, write_json
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.experiments.files import can_draw, write_result
    from hybrid_scheduler.experiments.registry import find_experiment
    from hybrid_scheduler.experiments.runner import run_experiment

    found = find_experiment(name)
    chosen = _configured(found, load_config(config), tasks, train_tasks, split)
    folder = out or DEFAULT_OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(json)
    check_writable(str(folder / "result.json"))
    count = found.default_seeds if seeds is None else seeds
    with progress_bar(["seeds"], count) as bar:
        result = run_experiment(
            chosen,
            range(seed, seed + count),
            jobs=_processors() if jobs is None else jobs,
            progress=None if bar is None else lambda done: bar("seeds", done),
        )
    files = write_result(result, folder)
    if not can_draw():
        note("no plots: matplotlib is missing; pip install 'hybrid-ml-scheduler[report]'")
    if json is not None:
        write_json(json, result.to_json())
    if json != STANDARD_OUTPUT:
        _show(result, files)


def _configured(
    found: type[Experiment],
    settings: Config,
    tasks: int | None,
    train_tasks: int | None,
    split: Literal["concurrent", "serial"] | None,
) -> Experiment:
    """The experiment as asked for: command line, environment, file, in this order."""
    physics = settings.physics if split is None else settings.physics.model_copy(update={"split": split})
    sizes = {"tasks": tasks, "train_tasks": train_tasks}
    return found(
        cluster=settings.cluster_spec(),
        physics=physics.build(),
        parameters={name: dict(chosen) for name, chosen in settings.schedulers.items()},
        **{key: value for key, value in sizes.items() if value is not None},
    )


def _processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _show(result: ExperimentResult, files: list[Path]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(result.experiment.question, style="bold", soft_wrap=True)
    console.print(_figures(result))
    for metric in result.experiment.compared:
        console.print(_comparisons(result, metric))
    document = result.to_json()
    console.print(f"intervals: {document['intervals']}", style="dim", soft_wrap=True)
    console.print(f"took {result.wall_seconds:.1f} s, wrote {', '.join(map(str, files))}", soft_wrap=True, markup=False)


def _figures(result: ExperimentResult) -> Table:
    """One row per scheduler, the best by the first compared metric on top."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    estimates = result.estimates
    key = result.experiment.compared[0]
    shown = result.experiment.shown
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("scheduler", no_wrap=True)
    for title in shown.values():
        table.add_column(title, justify="right", no_wrap=True)
    for name in sorted(estimates, key=lambda name: estimates[name][key].mean):
        table.add_row(name, *(_in_words(estimates[name][metric], metric == key) for metric in shown))
    return table


def _comparisons(result: ExperimentResult, metric: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("scheduler", "compared with", f"by {metric}", "verdict"):
        table.add_column(title, justify="right" if title.startswith("by") else "left", no_wrap=True)
    for each in result.comparisons:
        if each.metric == metric:
            between = "" if each.low is None else f" [{each.low:.4g}, {each.high:.4g}]"
            table.add_row(each.a, each.b, f"{each.difference:+.4g}{between}", each.verdict)
    return table


def _in_words(figure: Estimate, with_interval: bool) -> str:
    if not with_interval or figure.low is None:
        return f"{figure.mean:.4g}"
    return f"{figure.mean:.4g} [{figure.low:.4g}, {figure.high:.4g}]"
