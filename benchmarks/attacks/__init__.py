"""The checks of `benchmarks/attack.py`, by what they attack.

A check is a function `check_NAME(folder: Path) -> str` in a module of this package: it works in an empty folder of its
own, raises (AssertionError) when the service does not withstand, and returns the figures it saw in one line. Services
come from the tests (`live_service.LiveService`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

Check = Callable[[Path], str]


def checks() -> dict[str, Check]:
    """Every check by name: the module, then the function."""
    found: dict[str, Check] = {}
    for module in sorted(each.name for each in pkgutil.iter_modules(__path__)):
        loaded = importlib.import_module(f"{__name__}.{module}")
        for name, value in vars(loaded).items():
            if name.startswith("check_") and callable(value):
                found[f"{module}.{name.removeprefix('check_')}"] = value
    return found
