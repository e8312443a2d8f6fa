"""Classes that packages register through entry points, by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError

T = TypeVar("T")


@cache
def registered(group: str) -> dict[str, EntryPoint]:
    """What is registered in a group, by name; none of it is loaded."""
    return {point.name: point for point in entry_points(group=group)}


def load_registered(group: str, name: str, what: str, base: type[T]) -> type[T]:
    """The class registered under a name.

    Args:
        group: Of entry points.
        name: Of the class.
        what: What such classes are, for errors: `scheduler`.
        base: What they must be a subclass of.

    Raises:
        UnknownNameError: Nothing is registered under the name; the message offers the nearest one.
        InvalidInputError: What is registered is no such class, or cannot be imported.
    """
    points = registered(group)
    if name not in points:
        raise UnknownNameError(what, name, points)
    try:
        loaded: Any = points[name].load()
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"{what} {name!r} ({points[name].value}) cannot be loaded: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise InvalidInputError(f"{what} {name!r} ({points[name].value}) is not a subclass of {base.__name__}")
    return loaded
