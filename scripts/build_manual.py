"""Write the manual as one PDF, from the pages of the site: `python scripts/build_manual.py [FILE]`."""

from __future__ import annotations

import sys
from pathlib import Path

from documentation.manual import Manual
from documentation.pages import ROOT

DEFAULT = ROOT / "build" / "manual.pdf"


def main() -> None:
    """Write it to the file named on the command line, or to build/manual.pdf."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    path.parent.mkdir(parents=True, exist_ok=True)
    (pdf,) = Manual().compiled()
    path.write_bytes(pdf)
    sys.stdout.write(f"{path}: {len(pdf) / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
