"""`hms report`: plots, PDF and web page of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunFolder = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Folder of a finished experiment, e.g. data/results/mixed, or its number in the store.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder for the files; default the run's own.", show_default=False)
]
ColourBlind = Annotated[
    bool, typer.Option("--colour-blind", help="Colours that people of every colour vision can tell apart.")
]


def report(run: RunFolder, out: Out = None, colour_blind: ColourBlind = False) -> None:
    """Draw the plots of a run and write its report as PDF and as one web page."""
    from hybrid_scheduler.reports.report import write_report
    from hybrid_scheduler.reports.run_folder import open_run
    from hybrid_scheduler.schedulers.colours import colour_blind_safe, colour_of

    for path in write_report(open_run(_folder(run)), out, colour_blind_safe if colour_blind else colour_of):
        typer.echo(f"wrote {path}")


def _folder(run: str) -> Path:
    """The folder itself, or that of a stored run."""
    folder = Path(run)
    if folder.exists() or not (run.isascii() and run.isdecimal()):
        return folder
    from hybrid_scheduler.cli.kept_experiment import experiment_folder  # the store's libraries are slow to load

    return experiment_folder(int(run))
