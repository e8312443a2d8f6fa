"""`hms calibrate`: measures kernels on this machine and writes a simulated twin of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
    from hybrid_scheduler.physics.calibrated import CalibratedCost

Out = Annotated[
    Path, typer.Option(metavar="FILE", help="The node to write; the measurements go beside it, as FILE's name + .csv.")
]
Kinds = Annotated[str | None, options.optional("Which kernels; all unless given.", "KIND,KIND,...")]
Sizes = Annotated[str, typer.Option(metavar="N,N,...", help="Sizes to measure, at least two.")]
Lanes = Annotated[
    int | None,
    options.count("How many lanes share the cores, each a device; default one beside GPUs, else two.", 1, 1024),
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Take the measurements of another machine from a CSV file instead (columns kind, size, cpu_s, gpu_s, "
        "upload_s, download_s and the least and greatest of each), and from split.csv and power.csv beside it.",
        show_default=False,
    ),
]


def calibrate(
    out: Out = Path("node.yaml"),
    kinds: Kinds = None,
    sizes: Sizes = "100,200,500,1000,2000",
    lanes: Lanes = None,
    source: From = None,
    seed: options.Seed = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Measure kernels on this machine's lanes and write a node that simulates it.

    `hms compare --cluster node.yaml` then races on it. Kernels run on the processes on which `hms run` has them run,
    alone and beside busy neighbours; splits and power are measured where there is something to split and to read. Times
    between the measured sizes are interpolated in the logarithms; the error of that is what leaving out each inner size
    shows. Sizes outside those measured are refused.
    """
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, write_json
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.hardware.calibration_file import write_machine
    from hybrid_scheduler.hardware.calibration_import import read_machine
    from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS, kernel_kind

    check_writable(json)
    settings = load_config(config)
    wanted = list(KERNEL_KINDS) if kinds is None else [kernel_kind(name.strip()).name for name in kinds.split(",")]
    if source is not None:
        imported = read_machine(source, wanted)
        machine = imported.machine
        note(f"read {', '.join(map(str, imported.files))}")
    else:
        machine = measured(wanted, _whole(sizes), lanes, settings.simulation.seed if seed is None else seed)
    table = write_machine(out, machine)
    if json is not None:
        write_json(json, {"node": str(out), "measurements": str(table), **machine.to_json()})
    if json != STANDARD_OUTPUT:
        _show(machine, out, table)


def measured(kinds: Sequence[str], sizes: Sequence[int], cpu_lanes: int | None, seed: int) -> CalibratedMachine:
    """This machine, measured under a progress bar.

    Raises:
        InvalidInputError: A size is out of range, or a kernel does not run.
        LaneError: A lane was lost.
    """
    from hybrid_scheduler.cli.output import note, progress_bar
    from hybrid_scheduler.hardware.calibration import PHASES, calibrated_lanes, check_sizes
    from hybrid_scheduler.physics.calibrated import NOISE
    from hybrid_scheduler.scenario.at_work import PHASE, calibrate_machine

    sizes = check_sizes(sizes)
    with (
        calibrated_lanes(kinds, sizes, cpu_lanes, seed) as calibration,
        progress_bar((*PHASES, PHASE), calibration.repeats + 1) as bar,
    ):
        if bar is not None:
            calibration.progress = bar
        machine = calibrate_machine(calibration)
    if machine.noise > NOISE:
        note(
            f"repeated runs scatter by {100 * machine.noise:.0f} % in the median, as they do beside other programs; "
            "the twin is one of a busy machine, so measure again on a quiet one"
        )
    return machine


def _whole(sizes: str) -> list[int]:
    from hybrid_scheduler.model.errors import InvalidInputError

    try:
        return [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise InvalidInputError(f"sizes are {sizes!r}, but they must be whole numbers, like 100,1000") from error


def _show(machine: CalibratedMachine, out: Path, table: Path) -> None:
    from rich.console import Console

    Console().print(_error_table(machine.cost))
    for noisy in machine.cost.noisy():
        typer.echo(str(noisy))
    for device in machine.cluster.devices:
        if missing := machine.not_measured(device):
            typer.echo(f"{device.name}: {', '.join(missing)} not measured: the defaults")
    typer.echo(f"Wrote {out} and {table}.")


def _error_table(cost: CalibratedCost) -> Table:
    """Error by cross-validation and scatter, per kind and device, in per cent."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD, pad_edge=False, title="Median error of interpolation, leaving out each inner size in turn"
    )
    table.add_column("kind")
    for name in ("all", *cost.devices):
        table.add_column(name, justify="right")
    for name in cost.devices:
        table.add_column(f"scatter {name}", justify="right")
    scatter = cost.scatter()
    for kind, errors in cost.errors().items():
        found = [errors.get(name) for name in ("all", *cost.devices)]
        spread = [scatter[kind].get(name) for name in cost.devices]
        table.add_row(kind, *("" if figure is None else f"{100 * figure:.1f} %" for figure in (*found, *spread)))
    return table
