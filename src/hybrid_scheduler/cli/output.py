"""Where results, notes and progress go: standard output is for the result alone."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from hybrid_scheduler.compile_cache import is_empty
from hybrid_scheduler.model.errors import InvalidInputError

STANDARD_OUTPUT = "-"


def note(message: str) -> None:
    """Say something that is not the result."""
    typer.echo(f"note: {message}", err=True)


def note_first_use() -> None:
    """Say why nothing seems to happen the first time. To be called before the simulator is imported."""
    if is_empty():
        note("the simulator is compiled now, once; that takes about a minute")


def check_writable(target: str | None) -> None:
    """Refuse a file that cannot be written before a long computation, not after it. Changes nothing."""
    if target is None or target == STANDARD_OUTPUT:
        return
    path = Path(target)
    if path.exists() and not path.is_file() and not path.is_dir():
        return  # a pipe or a device: opening it may have consequences
    existed = path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be written: {error.strerror or error}") from error
    if not existed:
        path.unlink()


def write_json(target: str, document: object) -> None:
    """Write a document to a file or to standard output."""
    text = json.dumps(_plain(document), indent=2, allow_nan=False)
    if target == STANDARD_OUTPUT:
        typer.echo(text)
        return
    try:
        Path(target).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"{target}: the file cannot be written: {error.strerror or error}") from error


def _plain(value: object) -> object:
    """JSON has no infinity: a figure that left the range of numbers is no figure."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def progress_bar(names: Sequence[str], tasks: int) -> Iterator[Callable[[str, int], None] | None]:
    """A bar on standard error when somebody is watching; gives what the comparison reports to."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:>14}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=tasks * len(names))

        def report(name: str, decisions: int) -> None:
            # After failures of devices tasks are decided again; the bar counts each once. Training comes before.
            done = names.index(name) * tasks + min(decisions, tasks) if name in names else 0
            progress.update(bar, description=name, completed=done)

        yield report
