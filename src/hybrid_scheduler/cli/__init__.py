"""The command line, `hms`: one file per command.

Modules here import nothing heavy when they are loaded (commands import what they need when they run), so that
`hms --help` answers at once.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from hybrid_scheduler.cli.compare import compare
from hybrid_scheduler.cli.db import db
from hybrid_scheduler.cli.experiment import experiment
from hybrid_scheduler.cli.generate import generate
from hybrid_scheduler.cli.pipeline import pipeline
from hybrid_scheduler.cli.profile import profile
from hybrid_scheduler.cli.report import report
from hybrid_scheduler.cli.schedulers import schedulers
from hybrid_scheduler.cli.serve import serve
from hybrid_scheduler.cli.train import train

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 1

app = typer.Typer(
    name="hms",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command()(compare)
app.command()(experiment)
app.command()(generate)
app.command()(pipeline)
app.command()(profile)
app.command()(report)
app.command()(schedulers)
app.command()(serve)
app.command()(train)
app.add_typer(db, name="db")


def _show_version(wanted: bool) -> None:
    if wanted:
        from hybrid_scheduler import __version__

        typer.echo(f"hms {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Which task runs on which hardware, CPU, GPU or both? Races scheduling strategies on a simulated node."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Whatever the user got wrong is one line on standard error."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    command = next((f"hms {word}" for word in args if not word.startswith("-")), "hms")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without stars still gets its table
    try:
        result = app(args, prog_name="hms", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left. Python flushes once more at its end; that must not fail aloud.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except typer.TyperException as error:
        return _complain(command, error.format_message().replace("Value error, ", ""))
    except (OSError, MemoryError) as error:
        return _complain(command, _described(error))
    except _our_errors() as error:
        return _complain(command, str(error))
    return result if isinstance(result, int) else 0


def _our_errors() -> type[Exception]:
    # Imported only when something has gone wrong: the model brings NumPy with it.
    from hybrid_scheduler.model.errors import HybridSchedulerError

    return HybridSchedulerError


def _described(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; use fewer tasks"
    name = f"{error.filename}: " if error.filename is not None else ""
    return f"{name}{error.strerror or error}"


def _complain(command: str, message: str) -> int:
    if os.environ.get("HMS_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    typer.echo(f"{command}: {' '.join(message.split())}", err=True)
    return BAD_INPUT
