"""`hms run`: real kernels through schedulers, one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options

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
    options.optional("Kernels to draw: kernels (default), or kernels:kinds=matmul+sort,sizes=100-2000.", "NAME"),
]
Tasks = Annotated[int | None, options.count("Number of tasks; default 200, or all of a file.", 1)]
Load = Annotated[
    float | None,
    options.optional(
        "Arrivals: rate as a share of the capacity of the machine's calibrated twin (--cluster); default 0.6 with"
        " one, all at once without. Files keep their own arrivals.",
        "X",
        options.real(0, open_low=True),
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
    options.count(
        "Worker processes that share the cores; default as --cluster says, else two, or one beside GPUs.", 1, 1024
    ),
]
Cluster = Annotated[
    Path | None,
    options.optional("Node file: watts and prices and, of a calibrated node (hms calibrate), the estimates.", "FILE"),
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
    options.count(
        "Train the learners in the calibrated twin first, on N tasks of the same kind and another seed; default"
        " 1000, 0 starts them cold. Without a calibration they start cold.",
        0,
        10**8,
    ),
]


@options.start(TrainTasks)
@options.scenario(
    *("tasks", "preset", "trace", "format", "rate", "load", "warmup", "cluster", "seed"),
    tasks=Tasks,
    preset=Preset,
    load=Load,
    cluster=Cluster,
)
def run(
    *,
    schedulers: Names = None,
    asked: options.Asked,
    node: Node = "machine",
    lanes: Lanes = None,
    limit: Limit = 300.0,
    start: options.Asked,
    store: options.Store = False,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Run kernels for real: on this machine's cores and GPUs, or on a Ray cluster.

    Every scheduler places the same tasks on the same warm workers, one scheduler after the other; tasks arrive by the
    clock as they did in the file. Columns kind, size and arrival_time are enough (hms generate --preset kernels).
    """
    from hybrid_scheduler.cli.output import check_writable, note_first_use

    note_first_use()
    from hybrid_scheduler.api.run import real_contest
    from hybrid_scheduler.api.start import Start
    from hybrid_scheduler.cli.contest import run_contest
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.scenario import ScenarioOptions

    check_writable(json)
    contest = real_contest(
        schedulers,
        ScenarioOptions(**asked),
        load_config(config),
        Start.chosen(**start, packaged=False),
        node=node,
        cpu_lanes=lanes,
        limit=limit,
    )
    run_contest(contest, json, store=store)
