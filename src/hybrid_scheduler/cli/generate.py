"""`hms generate`: a stream of tasks as a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options

Out = Annotated[Path, typer.Option(metavar="FILE", help="The CSV file to write; compressed if it ends in .gz.")]


@options.scenario(
    *("tasks", "preset", "rate", "load", "size_range", "intensity_range", "memory_range"),
    *("dependency_prob", "max_dependencies", "gpus", "cluster", "speedup", "seed"),
)
def generate(
    out: Out,
    asked: options.Asked,
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
    scenario = ScenarioOptions(**asked).scenario(load_config(config))
    # Of kernels kind and size say everything; the reader of that name fills in the rest.
    write_csv(out, scenario.batch(), KERNEL_COLUMNS if isinstance(scenario.source, KernelTasks) else ())
    figures = statistics(scenario.batch())
    if json is not None:
        write_json(json, {"seed": scenario.seed, "out": str(out), "workload": scenario.facts(), "statistics": figures})
    if json != STANDARD_OUTPUT:
        typer.echo(f"wrote {out}")
        for name, value in figures.items():
            typer.echo(f"{name:>17}  {value if isinstance(value, int | None) else format(value, '.6g')}")
