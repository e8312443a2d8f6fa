"""Which sizes of matrices can be profiled."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import refuse_beyond_memory

DEFAULT_SIZES = (256, 512, 1024, 2048)
LARGEST_SIZE = 16384
RULE = f"a whole number from 1 to {LARGEST_SIZE}"
MATRICES = 3
"""Two factors and a product, all in memory at once."""


def check_sizes(sizes: Iterable[int]) -> Sequence[int]:
    """The sizes as plain integers, in the order given.

    Raises:
        InvalidInputError: There is none, or one is not a whole number within the limits, comes twice, or does not fit
            into this machine's memory.
    """
    try:
        given = list(sizes)
    except TypeError as error:
        raise InvalidInputError(f"sizes is {sizes!r}; it must be a list of whole numbers, like [256, 512]") from error
    if not given:
        raise InvalidInputError(f"there is no size to profile; give at least one, {RULE}")
    checked = [_check(size) for size in given]
    for size in checked:
        if checked.count(size) > 1:
            raise InvalidInputError(f"size {size} is given twice; leave one out")
    largest = max(checked)
    refuse_beyond_memory(f"size {largest} needs", MATRICES * largest * largest * 4, "use smaller sizes")
    return checked


def _check(size: int) -> int:
    try:
        number = operator.index(size)
    except TypeError as error:
        raise InvalidInputError(f"size {size!r} must be {RULE}") from error
    if isinstance(size, bool) or not 1 <= number <= LARGEST_SIZE:
        raise InvalidInputError(f"size {size!r} must be {RULE}")
    return number
