"""Where compiled code is kept: in a folder of its own for every state of the sources.

Numba asks only the file of a function whether cached code is still good; what was inlined from other files would live
on after an edit or an upgrade. Runs when the package is imported, before anything is compiled; standard library only.
"""

from __future__ import annotations

import os
import sys
from hashlib import blake2b
from pathlib import Path

PREFIX = "compiled-"
ROOMS = ("model", "physics", "cluster", "learning", "schedulers")
"""Where compiled code and the constants in it come from."""
OLD = 3600.0
"""Seconds after which the folder of another state of the sources may go; until then somebody may be using it."""
VARIABLE = "NUMBA_CACHE_DIR"


def choose_folder() -> None:
    """Tell Numba where to keep compiled code, unless the user has."""
    chosen = os.environ.get(VARIABLE)
    if chosen and not Path(chosen).name.startswith(PREFIX):
        return
    package = Path(__file__).parent
    sources = [package / "compiled.py", *sorted(file for room in ROOMS for file in (package / room).rglob("*.py"))]
    states = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in sources]
    stamp = blake2b(repr(states).encode(), digest_size=8)
    home = package / "__pycache__"
    if not os.access(home if home.exists() else package, os.W_OK):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hybrid-ml-scheduler"
    folder = home / f"{PREFIX}{stamp.hexdigest()}"
    if not folder.exists():
        _remove_older(home)
    os.environ[VARIABLE] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)  # it has read the environment already


def is_empty() -> bool:
    """Whether nothing has been compiled yet."""
    return next(Path(os.environ[VARIABLE]).rglob("*.nbi"), None) is None


def _remove_older(home: Path) -> None:
    from contextlib import suppress
    from shutil import rmtree
    from time import time

    for folder in home.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # another process may be tidying up too
            if folder.stat().st_mtime < time() - OLD:
                rmtree(folder, ignore_errors=True)
