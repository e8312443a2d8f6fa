"""`hms inspect`: what a file of tasks is like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from hybrid_scheduler.workloads.summary import WorkloadSummary

File = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="A file of tasks, in any format; gzip is unpacked.", show_default=False),
]
Formats = Annotated[bool, typer.Option("--formats", help="List the formats and leave.")]
Plot = Annotated[Path | None, options.optional("Draw the tasks as a PNG file.", "FILE")]
KINDS_SHOWN = 8


def inspect(
    file: File = None,
    format: options.Format = None,
    plot: Plot = None,
    formats: Formats = False,
    seed: options.Seed = None,
    json: options.Json = None,
) -> None:
    """Say what a file of tasks is like: how many, their distributions, arrivals, graph, and what had to be assumed.

    The format is recognised by content. Large files are read piece by piece; quantiles of more than 100000 tasks come
    from a sample of that many. What a file does not say is filled by named rules, drawn from --seed, and listed.
    """
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, write_json
    from hybrid_scheduler.model.errors import InvalidInputError
    from hybrid_scheduler.scenario.scenario import DEFAULT_SEED
    from hybrid_scheduler.workloads.readers.registry import create_reader, reader_names, recognise
    from hybrid_scheduler.workloads.summary import summarise_chunks

    if formats:
        for name in reader_names():
            typer.echo(f"{name:>16}  {create_reader(name).title}")
        return
    if file is None:
        raise InvalidInputError("name the file to inspect, or list the formats with --formats")
    name = recognise(file) if format is None else format
    reader = create_reader(name)
    if plot is not None and reader.rows != "tasks":
        raise InvalidInputError(f"{file}: there are no tasks to draw in it; leave out --plot")
    for target in (json, None if plot is None else str(plot)):
        check_writable(target)
    seed = DEFAULT_SEED if seed is None else seed
    try:
        summary = summarise_chunks(reader.stream(file, seed), seed)
    except InvalidInputError as error:
        raise error if str(error).startswith(str(file)) else InvalidInputError(f"{file}: {error}") from error
    if json is not None:
        facts = {"file": str(file), "format": name, "seed": seed, reader.rows: summary.tasks}
        write_json(json, {**facts, **_document(summary)})
    if json != STANDARD_OUTPUT:
        typer.echo(f"{file}: {reader.title} ({name}), {summary.tasks} {reader.rows}")
        for line in (*_distributions(summary), "", *_facts(summary, reader.rows)):
            typer.echo(line)
    if plot is not None:
        _draw(summary, plot)
        typer.echo(f"wrote {plot}", err=json == STANDARD_OUTPUT)


def _document(summary: WorkloadSummary) -> dict[str, Any]:
    from dataclasses import asdict

    from hybrid_scheduler.workloads.summary import QUANTILES

    figures = {
        name: {
            "known": of.known,
            "mean": of.mean,
            "min": of.low,
            "max": of.high,
            **{f"p{share * 100:g}": value for share, value in zip(QUANTILES, of.quantiles, strict=True)},
        }
        for name, of in summary.figures.items()
    }
    return {
        "figures": figures,
        "quantiles_sampled": summary.is_sampled,
        "kinds": summary.kinds,
        "arrivals": None if summary.arrivals is None else asdict(summary.arrivals),
        "graph": None if summary.graph is None else asdict(summary.graph),
        "derived": list(summary.derived),
        "assumed": [assumption.to_json() for assumption in summary.assumed],
    }


def _distributions(summary: WorkloadSummary) -> list[str]:
    from hybrid_scheduler.workloads.summary import QUANTILES, SAMPLE_TASKS

    wide = max(map(len, summary.figures))
    heads = ("mean", "min", *(f"{share * 100:g}%" for share in QUANTILES), "max")
    lines = ["", " " * wide + "".join(f"{head:>11}" for head in heads)]
    for name, of in summary.figures.items():
        lines.append(f"{name:>{wide}}" + "".join(f"{v:>11.4g}" for v in (of.mean, of.low, *of.quantiles, of.high)))
    if summary.is_sampled:
        lines.append(f"(percentages from a sample of {SAMPLE_TASKS} tasks)")
    return lines


def _facts(summary: WorkloadSummary, rows: str) -> list[str]:
    """Everything else in words; nodes neither arrive nor wait."""
    lines = [_arrivals(summary), _graph(summary)] if rows == "tasks" else []
    if summary.kinds:
        shown = [f"{kind} {count}" for kind, count in list(summary.kinds.items())[:KINDS_SHOWN]]
        more = len(summary.kinds) - KINDS_SHOWN
        lines.append(f"kinds: {', '.join(shown)}" + (f", and {more} more" if more > 0 else ""))
    if summary.derived:
        lines.append(f"derived: {', '.join(summary.derived)}")
    lines += [f"assumed: {assumption}" for assumption in summary.assumed]
    return lines


def _arrivals(summary: WorkloadSummary) -> str:
    found = summary.arrivals
    if found is None:
        return "arrivals: all at once"
    return (
        f"arrivals: {found.rate:.4g} per second over {found.span:.4g} s; gaps vary by {found.variation:.3g} times "
        f"their mean (Poisson: 1), burstiness {found.burstiness:.2f}; the busiest hundredth of the time has "
        f"{found.peak:.3g} times the mean"
    )


def _graph(summary: WorkloadSummary) -> str:
    found = summary.graph
    if found is None:
        return "dependencies: none"
    shape = f"depth {found.depth}, width {found.width}"
    data = f"; {found.megabytes:.4g} MB of data, {found.mean_megabytes:.3g} MB each" if found.megabytes else ""
    return f"dependencies: {found.dependencies}; {shape}, {found.roots} tasks wait for none{data}"


def _draw(summary: WorkloadSummary, path: Path) -> None:
    from hybrid_scheduler.reports.plots.style import save
    from hybrid_scheduler.reports.plots.workload import workload

    sample = summary.sample
    figure = workload(sample["size"], sample["compute_intensity"], sample["memory_required"], summary.arrival_time)
    save(figure, path)
