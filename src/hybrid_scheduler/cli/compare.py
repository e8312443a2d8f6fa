"""`hms compare`: one batch race."""

from __future__ import annotations

from typing import Annotated

from hybrid_scheduler.cli import options

TrainTasks = Annotated[
    int | None,
    options.count(
        "Train the learners on N tasks of the same kind and another seed first; 0 starts them cold."
        " Default: the packaged models, where they fit the node.",
        0,
        10**8,
    ),
]


@options.start(TrainTasks)
@options.scenario(
    *("tasks", "preset", "trace", "format", "table", "estimates", "rate", "load", "warmup", "isolated"),
    *("dependency_prob", "max_dependencies", "gpus", "cpus", "cluster", "speedup", "split", "cost", "memory_policy"),
    *("noise", "seed"),
)
def compare(
    *,
    schedulers: options.Names = None,
    asked: options.Asked,
    start: options.Asked,
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
    from hybrid_scheduler.scenario import ScenarioOptions

    check_writable(json)
    settings = load_config(config)
    scenario = ScenarioOptions(**asked).scenario(settings)
    contestants = contestants_of(schedulers, settings, scenario.seed, Start.chosen(**start))
    run_contest(Contest(scenario, contestants), json, store=store)
