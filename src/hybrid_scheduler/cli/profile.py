"""`hms profile`: what this machine's CPU and GPU can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from rich.table import Table

    from hybrid_scheduler.hardware import HardwareProfile, Timing

DEFAULT_OUT = Path("data/profiles/hardware_profile.json")

Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option(help="What to compare the CPU with; auto takes what is there, cpu measures the CPU alone."),
]
Sizes = Annotated[str, typer.Option(metavar="N,N,...", help="Rows and columns of the matrices, each 1 to 16384.")]
Out = Annotated[Path, typer.Option(metavar="FILE", help="The JSON file to write; its folders are made.")]


def profile(
    device: Device = "auto",
    sizes: Sizes = "256,512,1024,2048",
    out: Out = DEFAULT_OUT,
    seed: options.Seed = None,
    json: options.Json = None,
    config: options.Config = None,
) -> None:
    """Measure this machine: matrix products on CPU and GPU, and transfers.

    Times are medians in float32 until the result is there; `end to end` includes moving the data to the GPU and back.
    The share is the part of a task to give to the GPU so that both end together.
    """
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, note, progress_bar, write_json
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.hardware import HardwareProfiler
    from hybrid_scheduler.hardware.profiler import TRANSFERS
    from hybrid_scheduler.hardware.sizes import check_sizes

    check_writable(json)
    settings = load_config(config)
    wanted = check_sizes(_read_sizes(sizes))
    profiler = HardwareProfiler(device, seed=settings.simulation.seed if seed is None else seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    check_writable(str(out))
    with progress_bar([*map(str, wanted), TRANSFERS], 1) as bar:
        profile = profiler.profile_range(wanted, None if bar is None else lambda step: bar(step, 0))
    profiler.save_profile(out)
    for remark in filter(None, (profile.note, profile.warning)):
        note(remark)
    if json is not None:
        write_json(json, profile.to_json())
    if json != STANDARD_OUTPUT:
        _show(profile, out)


def _read_sizes(text: str) -> list[int]:
    from hybrid_scheduler.hardware.sizes import RULE
    from hybrid_scheduler.model.errors import InvalidInputError

    sizes = []
    for word in text.split(",") if text.strip() else []:
        try:
            sizes.append(int(word))
        except ValueError as error:
            raise InvalidInputError(f"--sizes: {word!r} must be {RULE}") from error
    return sizes


def _show(profile: HardwareProfile, out: Path) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_table(profile))
    for transfer in profile.transfers:
        way = f"{transfer.direction.replace('_', ' ')} ({transfer.memory})"
        latency = transfer.latency.median * 1e6
        console.print(f"{way:>25}  {transfer.mb_per_second:,.0f} MB/s, latency {latency:,.1f} µs", soft_wrap=True)
    console.print(f"\n{_in_words(profile)}\nwrote {out}", soft_wrap=True, markup=False)


def _table(profile: HardwareProfile) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for title in ("size", "CPU ms", "GPU ms", "end to end ms", "CPU/GPU", "GPU share"):
        table.add_column(title, justify="right", no_wrap=True)
    for timing in profile.sizes:
        ratio = "-" if timing.gpu is None else f"{timing.cpu_gpu_ratio:.2f}"
        times = map(_milliseconds, (timing.cpu, timing.gpu, timing.gpu_end_to_end))
        table.add_row(str(timing.size), *times, ratio, f"{timing.gpu_fraction:.1%}")
    return table


def _milliseconds(timing: Timing | None) -> str:
    return "-" if timing is None else f"{timing.median * 1e3:.3f}"


def _in_words(profile: HardwareProfile) -> str:
    machine = profile.machine
    cpu = f"{machine['cpu']} ({machine['threads']} threads)"
    ratio, whole = profile.cpu_gpu_ratio, profile.end_to_end_ratio
    if profile.accelerator is None:
        return f"{cpu}, measured alone: tasks stay on the CPU (GPU share 0)."
    return (
        f"{profile.accelerator['name']} is {_times(ratio)} than {cpu}, {_times(whole)} with transfers; "
        f"suggested GPU share {profile.gpu_fraction:.1%}."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times faster" if ratio >= 1 else f"{1 / ratio:.3g} times slower"
