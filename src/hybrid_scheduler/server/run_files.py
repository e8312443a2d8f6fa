"""The files of a stored experiment: what its run says it wrote, in the folder it names, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hybrid_scheduler.store import RunRow

TYPES: Mapping[str, str] = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
}
"""By the ending of the name; what ends otherwise is not given away."""
PAGE_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox",
    )
)
"""A report is a page without scripts that loads nothing, and must stay one even if the file was tampered with."""


def run_files(run: RunRow) -> dict[str, Path]:
    """The files by name, in the order they were written; none for a run that is no finished experiment."""
    folder, names = run.configuration.get("folder"), (run.summary or {}).get("files")
    if run.kind != "experiment" or not isinstance(folder, str) or not isinstance(names, list):
        return {}
    paths = {name: Path(folder) / name for name in names if isinstance(name, str) and _is_plain(name)}
    return {name: path for name, path in paths.items() if path.is_file() and not path.is_symlink()}


def _is_plain(name: str) -> bool:
    """A name of a file and no path."""
    return not name.startswith(".") and not set(name) & set("/\\\0") and Path(name).suffix in TYPES
