"""Run the notebooks and keep their outputs, after a change of what they show: python scripts/run_notebooks.py."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def main() -> None:
    """Every notebook in a folder of its own, so that what it writes is gone afterwards."""
    os.environ["OMP_NUM_THREADS"] = "1"
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with TemporaryDirectory(prefix="hms-notebook-") as folder:
            resources = {"metadata": {"path": folder}}
            NotebookClient(
                notebook, timeout=300, kernel_name="python3", resources=resources, record_timing=False
            ).execute()
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
        print(f"ran {path.name}")


if __name__ == "__main__":
    main()
