"""`hms compare`: one batch race."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hybrid_scheduler.cli import options

Table = Annotated[Path | None, options.optional("Times per task and device from a CSV file.", "FILE")]
Estimates = Annotated[
    Literal["requested", "nominal"] | None,
    options.optional(
        "What schedulers are told of a trace's times: what its users asked for (default where it says so), or what"
        " was recorded."
    ),
]
Isolated = Annotated[bool, typer.Option("--isolated", help="Every task meets an idle node.")]
Noise = Annotated[float | None, options.optional("Log-normal noise on times.", "SIGMA", options.real(0, 10))]
MemoryPolicy = Annotated[
    Literal["fallback", "fail"] | None, options.optional("A task that does not fit: to the CPU (default), or failed.")
]
Cost = Annotated[Literal["cloud", "electricity"] | None, options.optional("Price list; default cloud.")]
TrainTasks = Annotated[
    int | None,
    options.count(
        "Train the learners on N tasks of the same kind and another seed first; 0 starts them cold."
        " Default: the packaged models, where they fit the node.",
        0,
        10**8,
    ),
]


@options.scenario(
    *("tasks", "preset", "trace", "format", "table", "estimates", "rate", "load", "warmup", "isolated"),
    *("dependency_prob", "max_dependencies", "gpus", "cpus", "cluster", "speedup", "split", "cost", "memory_policy"),
    *("noise", "seed"),
    table=Table,
    estimates=Estimates,
    isolated=Isolated,
    cost=Cost,
    memory_policy=MemoryPolicy,
    noise=Noise,
)
def compare(
    *,
    schedulers: options.Names = None,
    asked: options.Asked,
    weights: options.Weights = None,
    energy_weight: options.EnergyWeight = None,
    train_tasks: TrainTasks = None,
    model: options.Model = None,
    store: options.Store = False,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Race schedulers on one stream of tasks.

    Every scheduler gets its own copy of the simulated node and sees the same tasks. Beside the results stands a lower
    bound, what no scheduler could beat.
    """
    from hybrid_scheduler.cli.output import check_writable, note_first_use

    note_first_use()
    from hybrid_scheduler.api.compare import Contest
    from hybrid_scheduler.api.contestants import contestants_of
    from hybrid_scheduler.api.start import Start
    from hybrid_scheduler.cli.contest import run_contest
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.model.objective import Objective
    from hybrid_scheduler.scenario import ScenarioOptions

    check_writable(json)
    settings = load_config(config)
    scenario = ScenarioOptions(**asked).scenario(settings)
    objective, start = Objective.chosen(weights, energy_weight), Start.chosen(model, train_tasks)
    contestants = contestants_of(schedulers, settings, scenario.seed, objective, start)
    run_contest(Contest(scenario, contestants), json, store=store)
