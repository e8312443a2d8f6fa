"""`hms train`: the learners, trained offline and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options

ALL = ("forest", "hybrid_ml", "rl_agent")

What = Annotated[
    str,
    typer.Option(
        metavar="A,B,...",
        help="forest (the optimal fraction, scheduler_model.pkl), hybrid_ml (hybrid_ml.npz), rl_agent (rl_agent.pth).",
    ),
]
Workload = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Tasks from a CSV file, instead of a preset.", show_default=False)
]
ModelType = Annotated[str, typer.Option(metavar="NAME", help="Kind of forest: random_forest or xgboost.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where the models go.")]
EnergyWeight = Annotated[
    float, typer.Option(parser=options.real(0, 1), metavar="W", help="0 cares for time only, 1 for energy only.")
]


def train(
    what: What = "forest,hybrid_ml,rl_agent",
    tasks: options.Tasks = None,
    preset: options.Preset = None,
    workload: Workload = None,
    load: options.Load = None,
    rate: options.Rate = None,
    gpus: options.Gpus = None,
    cluster: options.Cluster = None,
    speedup: options.Speedup = None,
    model_type: ModelType = "random_forest",
    energy_weight: EnergyWeight = 0.5,
    out: Out = Path("models"),
    seed: options.Seed = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Train the learners on tasks of a preset or a file, and save them.

    10 000 tasks are a good start for a preset; more make better learners.
    """
    from hybrid_scheduler.cli.output import note_first_use

    note_first_use()
    from hybrid_scheduler.cli.node import choose_cluster, choose_cost
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, progress_bar, write_json
    from hybrid_scheduler.cli.recorded import recorded_stream
    from hybrid_scheduler.cli.stream import StreamOptions, synthetic_stream
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.model.errors import UnknownNameError
    from hybrid_scheduler.training.learners import train_models
    from hybrid_scheduler.workloads import read_csv

    check_writable(json)
    wanted = [name.strip() for name in what.split(",")]
    for name in wanted:
        if name not in ALL:
            raise UnknownNameError("model to train", name, ALL)
    settings = load_config(config)
    run_seed = settings.simulation.seed if seed is None else seed
    node, cost = choose_cluster(settings, gpus, cluster), choose_cost(settings, speedup)
    if workload is None:
        asked = StreamOptions(preset, tasks or 10_000, rate, load)
        stream = synthetic_stream(asked, settings, run_seed, node, cost)
    else:
        asked = StreamOptions(preset, tasks, rate, load)
        stream = recorded_stream(asked, read_csv(workload), workload, run_seed, node, cost)
    with progress_bar(wanted, len(stream.tasks)) as progress:
        report = train_models(
            wanted,
            stream.tasks,
            out,
            node,
            settings.physics.build(cost),
            seed=run_seed,
            energy_weight=energy_weight,
            model_type=model_type,
            progress=progress,
        )
    if json is not None:
        write_json(json, {"seed": run_seed, "workload": stream.source, "models": report})
    if json != STANDARD_OUTPUT:
        for name, facts in report.items():
            figures = ", ".join(f"{key} {value:.4g}" for key, value in facts.items() if isinstance(value, float))
            typer.echo(f"{name}: wrote {facts['path']}" + (f" ({figures})" if figures else ""))
