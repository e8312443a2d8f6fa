"""`hms report`: plots, PDF and web page of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from hybrid_scheduler.reports.run_folder import Run

RunFolder = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Folder of a finished experiment, e.g. data/results/mixed, or the number of a stored run of any kind.",
        show_default=False,
    ),
]
Out = Annotated[Path | None, options.optional("Folder for the files; default the run's own.", "DIR")]
ColourBlind = Annotated[
    bool, typer.Option("--colour-blind", help="Colours that people of every colour vision can tell apart.")
]


def report(run: RunFolder, out: Out = None, colour_blind: ColourBlind = False) -> None:
    """Draw the plots of a run and write its report as PDF and as one web page."""
    from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
    from hybrid_scheduler.reports.report import write_report
    from hybrid_scheduler.schedulers.colours import colour_blind_safe, colour_of

    try:
        written = write_report(_opened(run, out), out, colour_blind_safe if colour_blind else colour_of)
    except (HybridSchedulerError, OSError):
        raise
    except Exception as error:  # the document may come from anywhere, and every figure in it may be anything
        raise InvalidInputError(
            f"{run}: no report can be made of this run ({type(error).__name__}: {error}); if its files were changed, "
            "run it again, else HMS_DEBUG=1 shows where it failed"
        ) from error
    for path in written:
        typer.echo(f"wrote {path}")


def _opened(run: str, out: Path | None) -> Run:
    """The run of a folder, or a stored one."""
    from hybrid_scheduler.reports.run_folder import open_run

    folder = Path(run)
    if folder.exists() or not (run.isascii() and run.isdecimal()):
        return open_run(folder)
    from hybrid_scheduler.cli.stored_run import open_stored  # the store's libraries are slow to load

    return open_stored(int(run), out)
