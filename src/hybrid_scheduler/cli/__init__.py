"""The command line, `hms`: one file per command.

Modules here import nothing heavy when they are loaded (commands import what they need when they run), so that
`hms --help` answers at once.
"""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from hybrid_scheduler.cli.calibrate import calibrate
from hybrid_scheduler.cli.compare import compare
from hybrid_scheduler.cli.db import db
from hybrid_scheduler.cli.experiment import experiment
from hybrid_scheduler.cli.generate import generate
from hybrid_scheduler.cli.inspect import inspect
from hybrid_scheduler.cli.pipeline import pipeline
from hybrid_scheduler.cli.profile import profile
from hybrid_scheduler.cli.report import report
from hybrid_scheduler.cli.run import run
from hybrid_scheduler.cli.schedulers import schedulers
from hybrid_scheduler.cli.serve import serve
from hybrid_scheduler.cli.train import train

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 1
AGAIN_SECONDS = 0.05
"""After which an interrupt that was swallowed comes again."""

app = typer.Typer(
    name="hms",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for command in (
    *(calibrate, compare, experiment, generate, inspect, pipeline),
    *(profile, report, run, schedulers, serve, train),
):
    app.command()(command)
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
    interrupts: list[int] = []
    try:
        with _noting_interrupts(interrupts):
            result = app(args, prog_name="hms", standalone_mode=False)
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left. Python flushes once more at its end; that must not fail aloud.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if interrupts:
            return INTERRUPTED
        message = _message(error)
        if message is None:
            raise
        return _complain(command, message)
    return result if isinstance(result, int) else 0


@contextmanager
def _noting_interrupts(interrupts: list[int]) -> Iterator[None]:
    """Ctrl-C does what it always does and is noted: a callback of the compiler swallows it and may fail in other words.

    One that was swallowed there, or where objects are destroyed, comes again as soon as that is over.
    """
    again: list[threading.Timer] = []

    def interrupt(number: int, frame: object) -> None:
        interrupts.append(number)
        for timer in again:  # this one is heard, and nothing shall interrupt what cleans up
            timer.cancel()
        raise KeyboardInterrupt

    def swallowed(error: sys.UnraisableHookArgs) -> None:
        if issubclass(error.exc_type, KeyboardInterrupt):
            again.append(threading.Timer(AGAIN_SECONDS, _interrupt_main))
            again[-1].daemon = True
            again[-1].start()
        else:
            hook(error)

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    hook = sys.unraisablehook
    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        try:
            for timer in again:
                timer.cancel()
                timer.join()
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt_main() -> None:
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)  # wakes the main thread where it waits, too


def _message(error: Exception) -> str | None:
    """What to tell about an error that has to do with the input or the machine; none for a defect of ours."""
    # Imported only when something has gone wrong: the model brings NumPy with it.
    from hybrid_scheduler.model.errors import HybridSchedulerError

    if isinstance(error, typer.TyperException):
        return error.format_message().replace("Value error, ", "")
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; use fewer tasks"
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename is not None else ""
        return f"{name}{error.strerror or error}"
    return str(error) if isinstance(error, HybridSchedulerError) else None


def _complain(command: str, message: str) -> int:
    if os.environ.get("HMS_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    typer.echo(f"{command}: {' '.join(message.split())}", err=True)
    return BAD_INPUT
