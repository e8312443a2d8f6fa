"""`hms compare`: one batch race."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS

if TYPE_CHECKING:
    from hybrid_scheduler.cli.kept_run import KeptRun

Names = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help=f"Who races; default {', '.join(DEFAULT_SCHEDULERS)}.", show_default=False),
]
Trace = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Tasks from a file, in any format hms inspect reads.", show_default=False),
]
Table = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Times per task and device from a CSV file.", show_default=False)
]
Estimates = Annotated[
    Literal["requested", "nominal"] | None,
    typer.Option(
        help="What schedulers are told of a trace's times: what its users asked for (default where it says so), or what"
        " was recorded.",
        show_default=False,
    ),
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
TrainTasks = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(0, 10**8),
        metavar="N",
        help="Train the learners on N tasks of the same kind and another seed first; 0 starts them cold."
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
    format: options.Format = None,
    table: Table = None,
    estimates: Estimates = None,
    rate: options.Rate = None,
    load: options.Load = None,
    warmup: Warmup = 0,
    isolated: Isolated = False,
    dependency_prob: options.DependencyProb = None,
    max_dependencies: options.MaxDependencies = None,
    gpus: options.Gpus = None,
    cpus: options.Cpus = None,
    cluster: options.Cluster = None,
    speedup: options.Speedup = None,
    split: Split = None,
    cost: Cost = None,
    memory_policy: MemoryPolicy = None,
    noise: Noise = None,
    weights: options.Weights = None,
    energy_weight: options.EnergyWeight = None,
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
    from hybrid_scheduler.api.compare import contest_of
    from hybrid_scheduler.api.table import show
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, progress_bar, write_json
    from hybrid_scheduler.config import load_config

    check_writable(json)
    contest = contest_of(
        schedulers,
        tasks=tasks,
        preset=preset,
        trace=trace,
        format=format,
        table=table,
        estimates=estimates,
        rate=rate,
        load=load,
        warmup=warmup,
        isolated=isolated,
        dependency_prob=dependency_prob,
        max_dependencies=max_dependencies,
        gpus=gpus,
        cpus=cpus,
        cluster=cluster,
        speedup=speedup,
        split=split,
        cost=cost,
        memory_policy=memory_policy,
        noise=noise,
        weights=weights,
        energy_weight=energy_weight,
        train_tasks=train_tasks,
        model=model,
        seed=seed,
        config=load_config(config),
    )
    kept = kept_run() if store else None
    with progress_bar(list(contest.schedulers), contest.scenario.count) as progress:
        result = contest.run(progress, keep_outcomes=store)
    for remark in result.notes:
        note(remark)
    if json is not None:
        write_json(json, result.to_json())
    if json != STANDARD_OUTPUT:
        show(result.race)
    if kept is not None:  # last: whatever becomes of the store, the result has been shown
        for name in result:
            kept.take(name, result.outcomes(name).batch)
        note(f"kept as {kept.save(result.race)}")


def kept_run() -> KeptRun:
    """What keeps a run in the store; its libraries are slow to load, and optional."""
    from hybrid_scheduler.cli.kept_run import KeptRun

    return KeptRun()
