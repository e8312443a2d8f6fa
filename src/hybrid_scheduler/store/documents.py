"""JSON columns: how documents become text."""

from __future__ import annotations

from typing import Any

import orjson

from hybrid_scheduler.model.errors import InvalidInputError


def to_json(document: Any) -> str:
    """A document as JSON text; NaN and infinity become null, because JSON has neither.

    Raises:
        InvalidInputError: It holds something JSON cannot.
    """
    try:
        return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    except TypeError as error:
        raise InvalidInputError(f"this cannot be written as JSON: {error}") from error
