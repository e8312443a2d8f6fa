"""The report of a run: plots, PDF and web page in the run's own folder."""

from __future__ import annotations

from pathlib import Path

from hybrid_scheduler.model.errors import MissingExtraError
from hybrid_scheduler.reports.catalogue import draw
from hybrid_scheduler.reports.content import build
from hybrid_scheduler.reports.html import write_html
from hybrid_scheduler.reports.pdf import can_set, write_pdf
from hybrid_scheduler.reports.plots.style import Palette, can_draw
from hybrid_scheduler.reports.run_folder import Run
from hybrid_scheduler.schedulers.colours import colour_of

PDF, PAGE = "report.pdf", "report.html"


def missing_extras() -> str | None:
    """What must be installed before reports can be written; None when nothing is missing."""
    missing = [name for name, there in (("matplotlib", can_draw()), ("typst", can_set())) if not there]
    return str(MissingExtraError("a report", " and ".join(missing), "report")) if missing else None


def write_report(run: Run, folder: Path | None = None, palette: Palette = colour_of) -> list[Path]:
    """Draw the plots and write `report.pdf` and `report.html`.

    Args:
        run: What is reported.
        folder: Where the files go; the run's own folder by default.
        palette: The colours of the schedulers.

    Returns:
        The files.

    Raises:
        MissingExtraError: matplotlib or typst is not installed.
    """
    where = folder or run.folder
    where.mkdir(parents=True, exist_ok=True)
    pictures = draw(run, where, palette=palette)
    report = build(run, pictures)
    return [
        *(picture.path for picture in pictures),
        write_pdf(report, where / PDF),
        write_html(report, where / PAGE),
    ]
