"""The one error tree of the product.

Messages name the bad value, the rule it broke and the fix. The command line prints them as one line and leaves with
exit code 2; the service turns them into a 422.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HybridSchedulerError(Exception):
    """Root of every error this package raises on purpose."""


class InvalidInputError(HybridSchedulerError, ValueError):
    """A value, file or setting given by the user breaks a rule."""


class UnknownNameError(InvalidInputError):
    """A name that is not registered; the message offers the nearest one that is."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        options = sorted(known)
        near = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"unknown {what} {name!r}: {hint}known: {', '.join(options) or 'none'}")
        self.name = name
        self.known = options
        self.nearest = near[0] if near else None


class SchedulerError(HybridSchedulerError):
    """A scheduler failed: it raised something, or decided what cannot be carried out."""


class IllegalDecisionError(SchedulerError):
    """A scheduler returned a decision the node cannot carry out."""


class MissingExtraError(InvalidInputError):
    """Something needs an optional package that is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}; install it with 'pip install hybrid-ml-scheduler[{extra}]'")
