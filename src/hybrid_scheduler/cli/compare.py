"""`hms compare`: one batch race."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.schedulers.the_six import THE_SIX

if TYPE_CHECKING:
    from hybrid_scheduler.cli.kept_run import KeptRun
    from hybrid_scheduler.config import Config
    from hybrid_scheduler.schedulers.base import Scheduler

Names = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help=f"Who races; default {', '.join(THE_SIX)}.", show_default=False),
]
Trace = Annotated[Path | None, typer.Option(metavar="FILE", help="Tasks from a CSV file.", show_default=False)]
Table = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Times per task and device from a CSV file.", show_default=False)
]
Warmup = Annotated[
    int, typer.Option(parser=options.whole(0), metavar="N", help="Statistics leave out the first N tasks.")
]
Isolated = Annotated[bool, typer.Option("--isolated", help="Every task meets an idle node.")]
Split = Annotated[
    Literal["concurrent", "serial"] | None,
    typer.Option(help="Parts of a split task: at the same time (default) or one after the other.", show_default=False),
]
Noise = Annotated[
    float | None,
    typer.Option(parser=options.real(0, 10), metavar="SIGMA", help="Log-normal noise on times.", show_default=False),
]
MemoryPolicy = Annotated[
    Literal["fallback", "fail"] | None,
    typer.Option(help="A task that does not fit: to the CPU (default), or failed.", show_default=False),
]
Cost = Annotated[
    Literal["cloud", "electricity"] | None, typer.Option(help="Price list; default cloud.", show_default=False)
]
EnergyWeight = Annotated[
    float | None,
    typer.Option(
        parser=options.real(0, 1),
        metavar="W",
        help="What the learners care for: 0 time only, 1 energy only; default 0.5.",
        show_default=False,
    ),
]
TrainTasks = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(0, 10**8),
        metavar="N",
        help="Train the learners from scratch on N tasks of the same kind and another seed; 0 starts them cold."
        " Default: the packaged models, where they fit the node.",
        show_default=False,
    ),
]
Model = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="A learner's saved model; may be given for each.", show_default=False),
]
Store = Annotated[bool, typer.Option("--store", help="Keep the run in the store (see hms db).")]


def compare(
    schedulers: Names = None,
    tasks: options.Tasks = None,
    preset: options.Preset = None,
    trace: Trace = None,
    table: Table = None,
    rate: options.Rate = None,
    load: options.Load = None,
    warmup: Warmup = 0,
    isolated: Isolated = False,
    dependency_prob: options.DependencyProb = None,
    max_dependencies: options.MaxDependencies = None,
    gpus: options.Gpus = None,
    cluster: options.Cluster = None,
    speedup: options.Speedup = None,
    split: Split = None,
    cost: Cost = None,
    memory_policy: MemoryPolicy = None,
    noise: Noise = None,
    energy_weight: EnergyWeight = None,
    train_tasks: TrainTasks = None,
    model: Model = None,
    store: Store = False,
    seed: options.Seed = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Race schedulers on one stream of tasks.

    Every scheduler gets its own copy of the simulated node and sees the same tasks. Beside the results stands a lower
    bound, what no scheduler could beat.
    """
    from hybrid_scheduler.cli.output import note_first_use

    note_first_use()
    from hybrid_scheduler.cli.learners import Start, prepare
    from hybrid_scheduler.cli.node import choose_cluster, choose_cost
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, progress_bar, write_json
    from hybrid_scheduler.cli.recorded import recorded_stream
    from hybrid_scheduler.cli.results import show
    from hybrid_scheduler.cli.stream import StreamOptions, synthetic_stream
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.engine.compare import Comparison
    from hybrid_scheduler.workloads import read_csv, read_table

    check_writable(json)
    settings = load_config(config)
    run_seed = settings.simulation.seed if seed is None else seed
    contestants, absent = _contestants(schedulers, settings, run_seed, energy_weight)
    times = None if table is None else read_table(table)
    node = choose_cluster(settings, gpus, cluster, times)
    pricing = choose_cost(settings, speedup, times)
    wanted = {"split": split, "cost": cost, "memory_policy": memory_policy, "noise": noise}
    physics = settings.physics.model_copy(update={key: value for key, value in wanted.items() if value is not None})
    asked = StreamOptions(preset, tasks, rate, load, dependency_prob, max_dependencies, isolated=isolated)
    file, path = (times, table) if trace is None else (read_csv(trace), trace)
    if file is not None and path is not None:
        stream = recorded_stream(asked, file, path, run_seed, node, pricing)
    else:
        stream = synthetic_stream(asked, settings, run_seed, node, pricing)
    world = physics.build(pricing)
    comparison = Comparison(stream.tasks, contestants, node, world, run_seed, isolated, warmup, stream.source)
    kept = _kept_run() if store else None
    start = Start(tuple(model or ()), train_tasks, stream.more)
    with progress_bar(list(contestants), len(stream.tasks)) as progress:
        learning = prepare(contestants, start, node, world, seed=run_seed, isolated=isolated, progress=progress)
        result = comparison.run(progress, None if kept is None else kept.take)
    for remark in (*stream.notes, *absent, *learning):
        note(remark)
    if json is not None:
        write_json(json, result.to_json())
    if json != STANDARD_OUTPUT:
        show(result)
    if kept is not None:  # last: whatever becomes of the store, the result has been shown
        note(f"kept as {kept.save(result)}")


def _kept_run() -> KeptRun:
    from hybrid_scheduler.cli.kept_run import KeptRun  # the store's libraries are slow to load, and optional

    return KeptRun()


def _contestants(
    names: str | None, settings: Config, seed: int, energy_weight: float | None
) -> tuple[dict[str, Scheduler], list[str]]:
    """The schedulers by name, in the order given, and a remark on each of the six that is not to be had here."""
    from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError
    from hybrid_scheduler.schedulers.registry import scheduler_names

    known = scheduler_names()
    chosen = [name for name in THE_SIX if name in known] if names is None else [n.strip() for n in names.split(",")]
    if not any(chosen):
        raise InvalidInputError(f"--schedulers names nobody; known: {', '.join(known) or 'none'}")
    for name in chosen:
        if chosen.count(name) > 1:
            raise InvalidInputError(f"--schedulers names {name!r} twice; leave one out")
    contestants, absent = {}, []
    for name in chosen:
        try:
            contestants[name] = settings.scheduler(name, seed, energy_weight=energy_weight)
        except MissingExtraError as error:
            if names is not None:
                raise
            absent.append(f"{name} is left out: {error}")
    return contestants, absent
