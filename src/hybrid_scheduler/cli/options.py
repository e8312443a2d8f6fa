"""Options that several commands share, all those of a scenario, and how their values are read."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import typer

from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS

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


def optional(help: str, metavar: str | None = None, parser: Callable[[str], Any] | None = None) -> Any:
    """An option that may be left out: what happens then, its help says."""
    return typer.Option(metavar=metavar, parser=parser, help=help, show_default=False)


def count(help: str, low: int, high: int | None = None) -> Any:
    """A whole number from `low` to `high` that may be left out."""
    return optional(help, "N", whole(low, high))


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


Names = Annotated[str | None, optional(f"Who races; default {', '.join(DEFAULT_SCHEDULERS)}.", "A,B,...")]
Preset = Annotated[
    str | None,
    optional(
        "Kind of workload: mixed (default), gpu_favourable, cpu_favourable, uniform, bursty, drift, or drift:A:B;"
        " kernels, or kernels:kinds=matmul+sort,sizes=100-2000;"
        " graphs: layered, fork_join, cholesky, lu, qr, map_reduce, with parameters like cholesky:tiles=10.",
        "NAME",
    ),
]
Tasks = Annotated[
    int | None,
    count("Number of tasks; default 1000, or all of a file. Of graphs at least so many; default one graph.", 1),
]
Rate = Annotated[float | None, optional("Arrivals: tasks per second.", "R", real(0, open_low=True))]
Load = Annotated[
    float | None,
    optional(
        "Arrivals: rate as a share of the node's capacity; default 0.6, files keep their own arrivals.",
        "X",
        real(0, open_low=True),
    ),
]
DependencyProb = Annotated[float | None, optional("Probability that a task waits for earlier ones.", "P", real(0, 1))]
MaxDependencies = Annotated[int | None, count("Most parents of such a task; default 3.", 1, 100)]
Gpus = Annotated[int | None, count("Node of 1 CPU and N GPUs; default 4.", 0, 1024)]
Cpus = Annotated[int | None, count("Node of N CPUs; default 1.", 1, 1024)]
Cluster = Annotated[Path | None, optional("YAML file that describes the devices one by one.", "FILE")]
Speedup = Annotated[
    Literal["linear", "amdahl"] | None, optional("How a GPU gains from a task's intensity; default linear.")
]
Split = Annotated[
    Literal["concurrent", "serial"] | None,
    optional("Parts of a split task: at the same time (default) or one after the other."),
]
Trace = Annotated[Path | None, optional("Tasks from a file, in any format hms inspect reads.", "FILE")]
Format = Annotated[
    str | None,
    optional("Format of the file; recognised by content unless given (hms inspect --formats lists them).", "NAME"),
]
Warmup = Annotated[int, typer.Option(parser=whole(0), metavar="N", help="Statistics leave out the first N tasks.")]
Table = Annotated[Path | None, optional("Times per task and device from a CSV file.", "FILE")]
Estimates = Annotated[
    Literal["requested", "nominal"] | None,
    optional(
        "What schedulers are told of a trace's times: what its users asked for (default where it says so), or what"
        " was recorded."
    ),
]
Isolated = Annotated[bool, typer.Option("--isolated", help="Every task meets an idle node.")]
Noise = Annotated[float | None, optional("Log-normal noise on times.", "SIGMA", real(0, 10))]
MemoryPolicy = Annotated[
    Literal["fallback", "fail"] | None, optional("A task that does not fit: to the CPU (default), or failed.")
]
Cost = Annotated[Literal["cloud", "electricity"] | None, optional("Price list; default cloud.")]
SizeRange = Annotated[Interval | None, optional("Map the preset's sizes onto this range.", "LOW,HIGH", interval)]
IntensityRange = Annotated[Interval | None, optional("The same for intensity, within 0 to 1.", "LOW,HIGH", interval)]
MemoryRange = Annotated[Interval | None, optional("The same for memory, in MB.", "LOW,HIGH", interval)]
EnergyWeight = Annotated[
    float | None, optional("The same as --weights time=1-W,energy=W: 0 time only, 1 energy only.", "W", real(0, 1))
]
Weights = Annotated[
    str | None,
    optional(
        "What the learners care for, e.g. time=0.6,energy=0.2,money=0.2, scaled to sum 1; default time=0.5,energy=0.5.",
        "GOAL=X,...",
    ),
]
Model = Annotated[list[Path] | None, optional("A learner's saved model; may be given for each.", "FILE")]
Store = Annotated[bool, typer.Option("--store", help="Keep the run in the store (see hms db).")]
Seed = Annotated[int | None, count("Same seed, same tasks, same results; default 42.", 0, 2**63 - 1)]
Workers = Annotated[
    str,
    typer.Option(
        "--node",
        metavar="NODE",
        help="Where the parts run: machine (processes here), ray (a Ray cluster that is started for it and ended after)"
        " or ray://HOST:PORT (one that runs). Same results.",
    ),
]
Json = Annotated[str | None, optional("Write the result as JSON; - is standard output.", "FILE")]
Config = Annotated[Path | None, optional("Defaults; config.yaml in the working folder, if there.", "FILE")]

Asked = dict[str, Any]
"""What is asked of a scenario, arguments of `ScenarioOptions`; or of learners, those of `Start.chosen`."""
Command = Callable[..., None]
OF_SCENARIO = {
    "tasks": Tasks,
    "preset": Preset,
    "trace": Trace,
    "format": Format,
    "rate": Rate,
    "load": Load,
    "warmup": Warmup,
    "dependency_prob": DependencyProb,
    "max_dependencies": MaxDependencies,
    "gpus": Gpus,
    "cpus": Cpus,
    "cluster": Cluster,
    "speedup": Speedup,
    "split": Split,
    "seed": Seed,
    "table": Table,
    "estimates": Estimates,
    "isolated": Isolated,
    "noise": Noise,
    "memory_policy": MemoryPolicy,
    "cost": Cost,
    "size_range": SizeRange,
    "intensity_range": IntensityRange,
    "memory_range": MemoryRange,
}
DEFAULTS = {"warmup": 0, "isolated": False}
"""Of options that cannot be left open; the others are None unless given."""


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=annotation)


def _in_place_of(place: str, offered: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Give a command these options instead of one parameter, which gets what was said as a dictionary."""

    def with_options(command: Command) -> Command:
        shown: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            if parameter.name == place:
                shown += [_parameter(name, annotation) for name, annotation in offered.items()]
            else:
                shown.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @wraps(command)
        def called(**values: Any) -> None:
            command(**{place: {name: values.pop(name) for name in offered}}, **values)

        called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return called

    return with_options


def scenario(*names: str, **own: Any) -> Callable[[Command], Command]:
    """Give a command that takes `asked: Asked` options of its scenario in that place.

    Args:
        names: Which, in the order in which the command's help shows them.
        own: Those that the command describes in its own words, by the name that `ScenarioOptions` has for them.
    """
    return _in_place_of("asked", {name: own.get(name, OF_SCENARIO.get(name)) for name in (*names, *own)})


def start(train_tasks: Any) -> Callable[[Command], Command]:
    """Give a command that takes `start: Asked` what `Start.chosen` takes in that place; `train_tasks` in its words."""
    return _in_place_of(
        "start", {"weights": Weights, "energy_weight": EnergyWeight, "train_tasks": train_tasks, "model": Model}
    )
