"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeVar

import typer

Number = TypeVar("Number", int, float)


def _reader(convert: Callable[[str], Number], rule: str, holds: Callable[[Number], bool]) -> Callable[[str], Number]:
    def read(text: str) -> Number:
        try:
            value = convert(text)
        except ValueError as error:
            raise typer.BadParameter(f"{text!r} must be {rule}") from error
        if not holds(value):
            raise typer.BadParameter(f"{text!r} must be {rule}")
        return value

    return read


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """Reads a whole number from `low` to `high`."""
    rule = f"a whole number, at least {low}" if high is None else f"a whole number from {low} to {high}"
    return _reader(int, rule, lambda value: low <= value and (high is None or value <= high))


def real(low: float, high: float = math.inf, *, open_low: bool = False) -> Callable[[str], float]:
    """Reads a real number from (or, with `open_low`, above) `low` to `high`; never infinity or NaN."""
    rule = f"a number {'above' if open_low else 'from'} {low:g}" + (f" to {high:g}" if high < math.inf else "")
    if high == math.inf and not open_low:
        rule = f"a number, at least {low:g}"
    return _reader(float, rule, lambda v: math.isfinite(v) and (low < v if open_low else low <= v) and v <= high)


class Interval(NamedTuple):
    """Two numbers in one word; a plain tuple would make Typer ask for two."""

    low: float
    high: float

    def __repr__(self) -> str:
        return f"({self.low}, {self.high})"


def interval(text: str) -> Interval:
    """Reads a range; which ranges are possible the generator knows."""
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} must be the lowest and the highest value, like 1,20") from error
    return Interval(low, high)


Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Kind of workload: mixed (default), gpu_favourable, cpu_favourable, uniform, bursty, drift, or drift:A:B;"
        " kernels, or kernels:kinds=matmul+sort,sizes=100-2000;"
        " graphs: layered, fork_join, cholesky, lu, qr, map_reduce, with parameters like cholesky:tiles=10.",
        show_default=False,
    ),
]
Tasks = Annotated[
    int | None,
    typer.Option(
        parser=whole(1),
        metavar="N",
        help="Number of tasks; default 1000, or all of a file. Of graphs at least so many; default one graph.",
        show_default=False,
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(parser=real(0, open_low=True), metavar="R", help="Arrivals: tasks per second.", show_default=False),
]
Load = Annotated[
    float | None,
    typer.Option(
        parser=real(0, open_low=True),
        metavar="X",
        help="Arrivals: rate as a share of the node's capacity; default 0.6, files keep their own arrivals.",
        show_default=False,
    ),
]
DependencyProb = Annotated[
    float | None,
    typer.Option(
        parser=real(0, 1), metavar="P", help="Probability that a task waits for earlier ones.", show_default=False
    ),
]
MaxDependencies = Annotated[
    int | None,
    typer.Option(parser=whole(1, 100), metavar="N", help="Most parents of such a task; default 3.", show_default=False),
]
Gpus = Annotated[
    int | None,
    typer.Option(parser=whole(0, 1024), metavar="N", help="Node of 1 CPU and N GPUs; default 4.", show_default=False),
]
Cpus = Annotated[
    int | None,
    typer.Option(parser=whole(1, 1024), metavar="N", help="Node of N CPUs; default 1.", show_default=False),
]
Cluster = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="YAML file that describes the devices one by one.", show_default=False),
]
Speedup = Annotated[
    Literal["linear", "amdahl"] | None,
    typer.Option(help="How a GPU gains from a task's intensity; default linear.", show_default=False),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the file; recognised by content unless given (hms inspect --formats lists them).",
        show_default=False,
    ),
]
EnergyWeight = Annotated[
    float | None,
    typer.Option(
        parser=real(0, 1),
        metavar="W",
        help="The same as --weights time=1-W,energy=W: 0 time only, 1 energy only.",
        show_default=False,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="GOAL=X,...",
        help="What the learners care for, e.g. time=0.6,energy=0.2,money=0.2, scaled to sum 1;"
        " default time=0.5,energy=0.5.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        parser=whole(0, 2**63 - 1),
        metavar="N",
        help="Same seed, same tasks, same results; default 42.",
        show_default=False,
    ),
]
Workers = Annotated[
    str,
    typer.Option(
        "--node",
        metavar="NODE",
        help="Where the parts run: machine (processes here), ray (a Ray cluster that is started for it and ended after)"
        " or ray://HOST:PORT (one that runs). Same results.",
    ),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write the result as JSON; - is standard output.", show_default=False),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Defaults; config.yaml in the working folder, if there.", show_default=False),
]
