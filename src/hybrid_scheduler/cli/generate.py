"""`hms generate`: a stream of tasks as a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options

Out = Annotated[Path, typer.Option(metavar="FILE", help="The CSV file to write; compressed if it ends in .gz.")]
SizeRange = Annotated[
    options.Interval | None,
    typer.Option(
        parser=options.interval, metavar="LOW,HIGH", help="Map the preset's sizes onto this range.", show_default=False
    ),
]
IntensityRange = Annotated[
    options.Interval | None,
    typer.Option(
        parser=options.interval, metavar="LOW,HIGH", help="The same for intensity, within 0 to 1.", show_default=False
    ),
]
MemoryRange = Annotated[
    options.Interval | None,
    typer.Option(parser=options.interval, metavar="LOW,HIGH", help="The same for memory, in MB.", show_default=False),
]


def generate(
    out: Out,
    tasks: options.Tasks = None,
    preset: options.Preset = None,
    rate: options.Rate = None,
    load: options.Load = None,
    size_range: SizeRange = None,
    intensity_range: IntensityRange = None,
    memory_range: MemoryRange = None,
    dependency_prob: options.DependencyProb = None,
    max_dependencies: options.MaxDependencies = None,
    gpus: options.Gpus = None,
    cluster: options.Cluster = None,
    speedup: options.Speedup = None,
    seed: options.Seed = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Write a stream of tasks to a CSV file; of preset kernels kind, size, arrival and id alone.

    The node (--gpus, --cluster, --speedup) matters only for --load, which is a share of its capacity.
    """
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, write_json
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.scenario import ScenarioOptions
    from hybrid_scheduler.scenario.sources import KernelTasks
    from hybrid_scheduler.workloads import write_csv
    from hybrid_scheduler.workloads.generator import statistics
    from hybrid_scheduler.workloads.kernel_preset import KERNEL_COLUMNS

    check_writable(json)
    asked = ScenarioOptions(
        preset=preset,
        tasks=tasks,
        rate=rate,
        load=load,
        size_range=size_range,
        intensity_range=intensity_range,
        memory_range=memory_range,
        dependency_prob=dependency_prob,
        max_dependencies=max_dependencies,
        gpus=gpus,
        cluster=cluster,
        speedup=speedup,
        seed=seed,
    )
    scenario = asked.scenario(load_config(config))
    # Of kernels kind and size say everything; the reader of that name fills in the rest.
    write_csv(out, scenario.batch(), KERNEL_COLUMNS if isinstance(scenario.source, KernelTasks) else ())
    figures = statistics(scenario.batch())
    if json is not None:
        write_json(json, {"seed": scenario.seed, "out": str(out), "workload": scenario.facts(), "statistics": figures})
    if json != STANDARD_OUTPUT:
        typer.echo(f"wrote {out}")
        for name, value in figures.items():
            typer.echo(f"{name:>17}  {value if isinstance(value, int | None) else format(value, '.6g')}")
