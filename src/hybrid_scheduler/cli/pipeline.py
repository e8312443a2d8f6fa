"""`hms pipeline`: all phases, from this machine's profile to the race."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.schedulers.the_six import THE_SIX

if TYPE_CHECKING:
    from hybrid_scheduler.engine.compare import ComparisonResult
    from hybrid_scheduler.model.outcome import OutcomeBatch
    from hybrid_scheduler.schedulers.base import Scheduler
    from hybrid_scheduler.training.artefacts import Artefacts

TrainTasks = Annotated[
    int, typer.Option(parser=options.whole(200, 10**7), metavar="N", help="Tasks the learners are trained on.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder below which data/ and models/ are written.")]


def pipeline(
    tasks: options.Tasks = None,
    train_tasks: TrainTasks = 10_000,
    preset: options.Preset = None,
    load: options.Load = None,
    rate: options.Rate = None,
    gpus: options.Gpus = None,
    cluster: options.Cluster = None,
    speedup: options.Speedup = None,
    out: Out = Path(),
    seed: options.Seed = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Profile this machine, generate tasks, train the learners, race them, and write every result.

    The training tasks have another seed than those of the race.
    """
    from hybrid_scheduler.cli.output import note_first_use

    note_first_use()
    from hybrid_scheduler.cli.learners import TRAINING_SEED
    from hybrid_scheduler.cli.node import choose_cluster, choose_cost
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, progress_bar, write_json
    from hybrid_scheduler.cli.results import show
    from hybrid_scheduler.cli.stream import StreamOptions, synthetic_stream
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.engine.compare import Comparison
    from hybrid_scheduler.hardware import HardwareProfiler
    from hybrid_scheduler.training.artefacts import Artefacts
    from hybrid_scheduler.training.learners import train_models
    from hybrid_scheduler.workloads import write_csv

    check_writable(json)
    settings, files = load_config(config), Artefacts(out)
    run_seed = settings.simulation.seed if seed is None else seed
    node, cost = choose_cluster(settings, gpus, cluster), choose_cost(settings, speedup)
    physics, asked = settings.physics.build(cost), StreamOptions(preset, tasks, rate, load)
    stream = synthetic_stream(asked, settings, run_seed, node, cost)
    quiet = json == STANDARD_OUTPUT

    def say(message: str) -> None:
        typer.echo(message, err=quiet)

    say("1/5 profile: this machine's CPU and accelerator")
    profiler = HardwareProfiler(seed=run_seed)
    found = profiler.profile_range((256, 512, 1024))
    profiler.save_profile(files.profile)
    for remark in filter(None, (found.note, found.warning)):
        note(remark)
    say(f"2/5 generate: {train_tasks} training tasks")
    assert stream.more is not None
    training = stream.more(train_tasks, run_seed + TRAINING_SEED)
    write_csv(files.workload, training)
    say("3/5 train: forest, hybrid_ml, rl_agent")
    names = ["forest", "hybrid_ml", "rl_agent"]
    with progress_bar(names, train_tasks) as progress:
        models = train_models(
            names, training, files.forest.parent, node, physics, seed=run_seed + TRAINING_SEED, progress=progress
        )
    say(f"4/5 race: {len(stream.tasks)} tasks")
    contestants = {name: settings.scheduler(name, run_seed) for name in THE_SIX}
    _load_models(contestants, files)
    outcomes: dict[str, OutcomeBatch] = {}
    comparison = Comparison(stream.tasks, contestants, node, physics, run_seed, source=stream.source)
    with progress_bar(list(contestants), len(stream.tasks)) as progress:
        result = comparison.run(progress, outcomes.__setitem__)
    say("5/5 report")
    report = _write_report(result, outcomes, files, train_tasks)
    if json is not None:
        write_json(json, {"profile": found.to_json(), "models": models, "race": result.to_json()})
    if not quiet:
        show(result)
        trained = (files.profile, files.workload, files.forest, files.hybrid, files.agent)
        for path in (*trained, files.results, *report):
            say(f"wrote {path}")


def _load_models(contestants: Mapping[str, Scheduler], files: Artefacts) -> None:
    """Let the learners go on from what the training left."""
    from hybrid_scheduler.schedulers.base import Learner

    for name, path in (("hybrid_ml", files.hybrid), ("rl_agent", files.agent)):
        learner = contestants[name]
        assert isinstance(learner, Learner)
        learner.load_model(path)


def _write_report(
    result: ComparisonResult, outcomes: Mapping[str, OutcomeBatch], files: Artefacts, train_tasks: int
) -> list[Path]:
    """The table of every decision, plots, PDF and web page; gives the files of the report."""
    from hybrid_scheduler.reports.race import OneRace, race_run
    from hybrid_scheduler.reports.report import write_report
    from hybrid_scheduler.training.artefacts import write_results

    write_results(files.results, outcomes)
    comparison = result.comparison
    race = OneRace(
        "The pipeline's race",
        f"{len(comparison.tasks):,} tasks through {len(outcomes)} schedulers, the learners trained beforehand.",
        comparison.seed,
        comparison.tasks,
        outcomes,
        comparison.cluster_facts(),
        result.lower_bound,
        {**comparison.source, "training_tasks": train_tasks},
    )
    return write_report(race_run(race, files.plots))
