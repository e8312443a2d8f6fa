"""How the hot functions of the loop are compiled.

Reference counting is off in them: they allocate nothing and keep nothing, and counting every touch of an array cost
more than the work itself (measured: 450 ns a task with it, 72 ns without it and inlined). A function compiled this way
cannot create arrays; what needs some, such as a disturbance, is compiled plainly and called from Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba as nb

F = TypeVar("F", bound=Callable[..., Any])


def hot(function: F) -> F:
    """Compile without reference counting."""
    return cast("F", nb.njit(cache=True, _nrt=False)(function))  # type: ignore[call-overload]


def inlined(function: F) -> F:
    """Compile without reference counting, into the caller: passing a dozen arrays costs more than these bodies."""
    return cast("F", nb.njit(cache=True, _nrt=False, inline="always")(function))  # type: ignore[call-overload]
