"""What a command left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document it must be."""
        document: dict[str, Any] = json.loads(self.out, parse_constant=_refuse)
        return document


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


Hms = Callable[..., Answer]


def without_clock(document: dict[str, Any]) -> dict[str, Any]:
    """The document less its wall-clock fields; they must be there."""
    document = json.loads(json.dumps(document))
    assert document.pop("wall_seconds") > 0
    for figures in document["schedulers"].values():
        assert figures.pop("decision_us") > 0
    return document
