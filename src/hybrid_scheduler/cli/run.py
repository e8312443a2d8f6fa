"""`hms run`: real kernels through schedulers, one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.cli.compare import Model, Store, Trace, Warmup, kept_run

Names = Annotated[
    str | None,
    typer.Option(
        "--schedulers",
        "--scheduler",
        metavar="A,B,...",
        help="Who places the tasks, one after the other; default those of hms compare that do without the truth.",
        show_default=False,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Kernels to draw: kernels (default), or kernels:kinds=matmul+sort,sizes=100-2000.",
        show_default=False,
    ),
]
Tasks = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(1), metavar="N", help="Number of tasks; default 200, or all of a file.", show_default=False
    ),
]
Load = Annotated[
    float | None,
    typer.Option(
        parser=options.real(0, open_low=True),
        metavar="X",
        help="Arrivals: rate as a share of the capacity of the machine's calibrated twin (--cluster); default 0.6 with"
        " one, all at once without. Files keep their own arrivals.",
        show_default=False,
    ),
]
Node = Annotated[
    str,
    typer.Option(
        metavar="NODE",
        help="Where the tasks run: machine (worker processes here), ray (a Ray cluster started here and ended after) or"
        " ray://HOST:PORT (one that runs).",
    ),
]
Lanes = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(1, 1024),
        metavar="N",
        help="Worker processes that share the cores; default as --cluster says, else two, or one beside GPUs.",
        show_default=False,
    ),
]
Cluster = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Node file: watts and prices and, of a calibrated node (hms calibrate), the estimates.",
        show_default=False,
    ),
]
Limit = Annotated[
    float,
    typer.Option(
        parser=options.real(0, open_low=True),
        metavar="SECONDS",
        help="A task that runs longer counts as hung; its worker is replaced.",
    ),
]
TrainTasks = Annotated[
    int | None,
    typer.Option(
        parser=options.whole(0, 10**8),
        metavar="N",
        help="Train the learners in the calibrated twin first, on N tasks of the same kind and another seed; default"
        " 1000, 0 starts them cold. Without a calibration they start cold.",
        show_default=False,
    ),
]


def run(
    schedulers: Names = None,
    tasks: Tasks = None,
    preset: Preset = None,
    trace: Trace = None,
    format: options.Format = None,
    rate: options.Rate = None,
    load: Load = None,
    warmup: Warmup = 0,
    node: Node = "machine",
    lanes: Lanes = None,
    cluster: Cluster = None,
    limit: Limit = 300.0,
    weights: options.Weights = None,
    energy_weight: options.EnergyWeight = None,
    train_tasks: TrainTasks = None,
    model: Model = None,
    store: Store = False,
    seed: options.Seed = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Run kernels for real: on this machine's cores and GPUs, or on a Ray cluster.

    Every scheduler places the same tasks on the same warm workers, one scheduler after the other; tasks arrive by the
    clock as they did in the file. Columns kind, size and arrival_time are enough (hms generate --preset kernels).
    """
    from hybrid_scheduler.cli.output import note_first_use

    note_first_use()
    from hybrid_scheduler.api.run import real_contest_of
    from hybrid_scheduler.api.table import show
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, progress_bar, write_json
    from hybrid_scheduler.config import load_config

    check_writable(json)
    contest = real_contest_of(
        schedulers,
        tasks=tasks,
        preset=preset,
        trace=trace,
        format=format,
        rate=rate,
        load=load,
        warmup=warmup,
        node=node,
        cpu_lanes=lanes,
        cluster=cluster,
        limit=limit,
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
    for name, entry in result.items():
        for task_id, reason in list(entry.failures.items())[:3]:
            note(f"{name}: task {task_id} failed: {reason}")
    if json is not None:
        write_json(json, result.to_json())
    if json != STANDARD_OUTPUT:
        show(result.race)
    if kept is not None:  # last: whatever becomes of the store, the result has been shown
        for name in result:
            kept.take(name, result.outcomes(name).batch)
        note(f"kept as {kept.save(result.race)}")
