"""`hms pipeline`: all phases, from this machine's profile to the race."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.cli.calibrate import measured
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS

if TYPE_CHECKING:
    from hybrid_scheduler.config import Config
    from hybrid_scheduler.engine.compare import ComparisonResult
    from hybrid_scheduler.hardware import HardwareProfile
    from hybrid_scheduler.model.outcome import OutcomeBatch
    from hybrid_scheduler.training.artefacts import Artefacts

CALIBRATED_SIZES = (100, 300, 1000)
"""Of every kernel: enough to span where devices change sides on most machines, and short."""
CALIBRATED_KINDS: tuple[str, ...] | None = None
"""Which kernels; None for all."""

TrainTasks = Annotated[
    int, typer.Option(parser=options.whole(200, 10**7), metavar="N", help="Tasks the learners are trained on.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder below which data/ and models/ are written.")]


@options.scenario("tasks", "preset", "load", "rate", "gpus", "cluster", "speedup", "seed")
def pipeline(
    asked: options.Asked,
    train_tasks: TrainTasks = 10_000,
    out: Out = Path(),
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Profile this machine, generate tasks, train the learners, race them, and write every result.

    The machine's kernels are calibrated too, and the race is of kernels on the simulated twin of this machine. Whoever
    asks for another node, other tasks or other physics, here or in the configuration, gets those instead. The training
    tasks have another seed than those of the race.
    """
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note_first_use, progress_bar, write_json

    note_first_use()
    from hybrid_scheduler.api.table import show
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.engine.compare import Comparison
    from hybrid_scheduler.hardware.calibration_file import write_machine
    from hybrid_scheduler.scenario import ScenarioOptions
    from hybrid_scheduler.schedulers.base import Learner
    from hybrid_scheduler.training.artefacts import Artefacts
    from hybrid_scheduler.training.learners import PREDICTOR, train_models, trainable
    from hybrid_scheduler.workloads import write_csv
    from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS

    check_writable(json)
    settings, files = load_config(config), Artefacts(out)
    described = any(asked[name] is not None for name in ("preset", "gpus", "cluster", "speedup"))
    on_twin = not described and describes_nothing(settings)
    scenario = ScenarioOptions(**asked).scenario(settings)  # what is wrong with the options is said before measuring
    quiet = json == STANDARD_OUTPUT

    def say(message: str) -> None:
        typer.echo(message, err=quiet)

    say("1/5 profile: this machine's CPU and accelerator")
    profile = _profile(files.profile, scenario.seed)
    if on_twin:
        say("    calibrate: its kernels, for the node of the race")
        write_machine(
            files.node, measured(CALIBRATED_KINDS or tuple(KERNEL_KINDS), CALIBRATED_SIZES, None, scenario.seed)
        )
        scenario = ScenarioOptions(**{**asked, "cluster": files.node}).scenario(settings)
    stream, training = scenario.batch(), scenario.training(train_tasks)
    say(f"2/5 generate: {train_tasks} training tasks")
    write_csv(files.workload, training.batch())
    contestants = {name: settings.scheduler(name, scenario.seed) for name in DEFAULT_SCHEDULERS}
    learners = {name: scheduler for name, scheduler in contestants.items() if isinstance(scheduler, Learner)}
    students = trainable({name: settings.scheduler(name, training.seed) for name in learners})
    names = [PREDICTOR, *students]
    say(f"3/5 train: {', '.join(names)}")
    with progress_bar(names, train_tasks) as progress:
        models = train_models(students, training, files.models, predictor="random_forest", progress=progress)
    for name, learner in learners.items():
        learner.load_model(str(models[name]["path"]))
    say(f"4/5 race: {len(stream)} tasks")
    outcomes: dict[str, OutcomeBatch] = {}
    comparison = Comparison(stream, contestants, scenario.world, scenario.seed, source=scenario.facts())
    with progress_bar(list(contestants), len(stream)) as progress:
        result = comparison.run(progress, outcomes.__setitem__)
    say("5/5 report")
    report = _write_report(result, outcomes, files, train_tasks)
    if json is not None:
        write_json(json, {"profile": profile.to_json(), "models": models, "race": result.to_json()})
    if not quiet:
        show(result)
        trained = [facts["path"] for facts in models.values()]
        calibrated = [files.node] if on_twin else []
        for path in (files.profile, *calibrated, files.workload, *trained, files.results, *report):
            say(f"wrote {path}")


def describes_nothing(config: Config) -> bool:
    """Whether a configuration says nothing of node, physics or kind of task; numbers, rates and seeds are no matter."""
    tasks = config.workload.model_fields_set - {"num_tasks", "load", "rate"}
    sections = config.model_fields_set & {"cluster", "physics"}
    return not tasks and not sections and "num_gpus" not in config.simulation.model_fields_set


def _profile(path: Path, seed: int) -> HardwareProfile:
    """This machine's profile, saved."""
    from hybrid_scheduler.cli.output import note
    from hybrid_scheduler.hardware import HardwareProfiler

    profiler = HardwareProfiler(seed=seed)
    profile = profiler.profile_range((256, 512, 1024))
    profiler.save_profile(path)
    for remark in filter(None, (profile.note, profile.warning)):
        note(remark)
    return profile


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
        comparison.world.facts(),
        result.lower_bound,
        {**comparison.source, "training_tasks": train_tasks},
    )
    return write_report(race_run(race, files.plots))
