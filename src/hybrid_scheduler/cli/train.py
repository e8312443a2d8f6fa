"""`hms train`: the learners, trained offline and saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.workers import Workers
    from hybrid_scheduler.schedulers.base import Learner

DEFAULT_TASKS = 10_000

Names = Annotated[
    str | None,
    options.optional(
        "Which learners, yours too; each is saved under its name. Default: the learners of a plain race.", "A,B,..."
    ),
]
Workload = Annotated[
    Path | None,
    typer.Option("--workload", metavar="FILE", help="Tasks from a file, instead of a preset.", show_default=False),
]
ModelType = Annotated[
    str | None,
    options.optional(
        "Kind of predictor of the optimal fraction (scheduler_model.pkl): random_forest or xgboost."
        " Default: random_forest, and none with --schedulers.",
        "NAME",
    ),
]
Tasks = Annotated[
    int | None,
    options.count(f"Number of tasks; default {DEFAULT_TASKS}, or all of a file. More make better learners.", 1),
]
Generations = Annotated[
    int | None,
    options.count(
        "Train the order of hybrid_queue too, for N generations on random nodes (the packaged one: 160, some"
        " 150 processor-minutes). An interrupted training in --out goes on. Default: it keeps the order it comes with.",
        1,
    ),
]
Jobs = Annotated[
    int | None,
    options.count("Scenarios of --generations at a time; default one per core (of the cluster). Same result.", 1),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="With --generations: begin anew.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where the models go.")]


@options.scenario(
    *("tasks", "preset", "trace", "format", "load", "rate", "gpus", "cluster", "speedup", "seed"),
    tasks=Tasks,
    trace=Workload,
)
def train(
    *,
    schedulers: Names = None,
    asked: options.Asked,
    model_type: ModelType = None,
    weights: options.Weights = None,
    energy_weight: options.EnergyWeight = None,
    generations: Generations = None,
    jobs: Jobs = None,
    node: options.Workers = "machine",
    fresh: Fresh = False,
    out: Out = Path("models"),
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Train the learners on tasks of a preset or a file, and save each as DIR/NAME.npz or DIR/NAME.pth.

    Forests are fitted to the oracle's labels of the tasks, the agent races through them. Unless --schedulers names
    some, a predictor of the best GPU share is fitted too (scheduler_model.pkl). `hms compare --model FILE` races with
    a saved model.

    With --generations, hybrid_queue's order is trained by evolution strategies on random nodes before its forest is
    fitted: DIR/order.npy has the weights, DIR/order.csv the learning curve. The packaged order is made by
    `hms train --schedulers hybrid_queue --generations 160 --seed 1 --out order`.
    """
    from hybrid_scheduler.cli.output import note_first_use

    note_first_use()
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, progress_bar, write_json
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.model.objective import Objective
    from hybrid_scheduler.scenario import ScenarioOptions
    from hybrid_scheduler.training.learners import PREDICTOR, train_models, trainable

    check_writable(json)
    settings = load_config(config)
    scenario = ScenarioOptions(**asked).scenario(settings, default_tasks=DEFAULT_TASKS)
    for remark in scenario.notes:
        note(remark)
    objective = Objective.chosen(weights, energy_weight)
    learners = trainable(
        {name: settings.scheduler(name, scenario.seed, objective=objective) for name in _wanted(schedulers)}
    )
    if generations is not None:
        from hybrid_scheduler.hardware.workers import find_workers

        _train_order(learners, generations, scenario.seed, out, find_workers(node, jobs), fresh)
    predictor = "random_forest" if schedulers is None and model_type is None else model_type
    names = [*learners] if predictor is None else [PREDICTOR, *learners]
    with progress_bar(names, scenario.count) as progress:
        report = train_models(learners, scenario, out, predictor=predictor, progress=progress)
    if json is not None:
        write_json(json, {"seed": scenario.seed, "workload": scenario.facts(), "models": report})
    if json != STANDARD_OUTPUT:
        for name, facts in report.items():
            figures = ", ".join(f"{key} {value:.4g}" for key, value in facts.items() if isinstance(value, float))
            typer.echo(f"{name}: wrote {facts['path']}" + (f" ({figures})" if figures else ""))


def _train_order(
    learners: Mapping[str, Learner], generations: int, seed: int, folder: Path, workers: Workers, fresh: bool
) -> None:
    """Train the order of every learned queue among the learners."""
    from hybrid_scheduler.cli.output import progress_bar
    from hybrid_scheduler.learning.model_file import make_folder
    from hybrid_scheduler.model.errors import InvalidInputError
    from hybrid_scheduler.schedulers.hybrid_queue import HybridQueue
    from hybrid_scheduler.training.order import OrderTraining, train_order

    queues = [learner for learner in learners.values() if isinstance(learner, HybridQueue)]
    if not queues:
        raise InvalidInputError(
            "--generations trains the order of hybrid_queue, but it is not among the learners; "
            "add --schedulers hybrid_queue"
        )
    make_folder(folder)
    with progress_bar(["order"], generations) as tell, workers:
        trained = train_order(
            OrderTraining(generations=generations, seed=seed),
            folder,
            workers=workers,
            fresh=fresh,
            tell=None if tell is None else lambda done: tell("order", done),
        )
    for queue in queues:
        queue.order = trained.average


def _wanted(names: str | None) -> list[str]:
    """The names given, each once; the learners of a plain race when there are none."""
    from hybrid_scheduler.model.errors import InvalidInputError
    from hybrid_scheduler.schedulers.base import Learner
    from hybrid_scheduler.schedulers.registry import scheduler_class

    if names is None:
        return [name for name in DEFAULT_SCHEDULERS if issubclass(scheduler_class(name), Learner)]
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if wanted.count(name) > 1:
            raise InvalidInputError(f"--schedulers names {name!r} twice; leave one out")
    return wanted
