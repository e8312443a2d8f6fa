"""A report as a PDF, set by Typst; the template stands beside this file, in `templates`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hybrid_scheduler.model.errors import MissingExtraError
from hybrid_scheduler.reports.content import Report, Table

TEMPLATE = "report.typ"
LARGEST, PAGE = 8.2, 1000.0
"""Points of the letters in tables: at most so many, and fewer where a row has more than so many letters by points."""

LONGEST = 60
"""Letters of a cell after which it is broken."""


def can_set() -> bool:
    """Whether PDFs can be made here: typst comes with the extra `report`."""
    return find_spec("typst") is not None


def write_pdf(report: Report, path: Path) -> Path:
    """Write the PDF.

    Raises:
        MissingExtraError: typst is not installed.
    """
    (pdf,) = compiled(report, "pdf")
    path.write_bytes(pdf)
    return path


def compiled(report: Report, form: Literal["pdf", "png"]) -> list[bytes]:
    """The report as one PDF, or as one picture per page.

    Raises:
        MissingExtraError: typst is not installed.
    """
    if not can_set():
        raise MissingExtraError("a PDF", "typst", "report")
    import typst

    with TemporaryDirectory(prefix="hms-report-") as name:
        folder = Path(name)
        template = files("hybrid_scheduler.reports") / "templates" / TEMPLATE
        (folder / TEMPLATE).write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
        (folder / "data.json").write_text(json.dumps(_plain(report, folder)), encoding="utf-8")
        pages: Any = typst.compile(str(folder / TEMPLATE), root=str(folder), format=form, ignore_system_fonts=True)
    return pages if isinstance(pages, list) else [pages]  # pictures come one per page


def _plain(report: Report, folder: Path) -> dict[str, object]:
    """The report as the template wants it; the pictures are put beside it."""
    document = asdict(report)
    for section, content in zip(document["sections"], report.sections, strict=True):
        for table, rows in zip(section["tables"], content.tables, strict=True):
            table["widths"] = _widths(rows)
            table["points"] = min(LARGEST, PAGE / sum(table["widths"]))
        for picture in section["pictures"]:
            picture["file"] = f"{picture['name']}.png"
            shutil.copyfile(picture.pop("path"), folder / picture["file"])
    return document


def _widths(table: Table) -> list[float]:
    """Columns share the page by their longest words; so no cell leaves it."""
    longest: Sequence[int] = [
        max(len(cell) for cell in column) for column in zip(table.columns, *table.rows, strict=True)
    ]
    return [float(min(max(length, 5) + 2, LONGEST)) for length in longest]
