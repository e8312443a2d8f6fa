"""Markdown tables and the words in them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

ATTRIBUTE = re.compile(r"^(\w+): (.*)$")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; cells are Markdown. Columns in which there is nothing are left out."""
    body = [[_cell(value) for value in row] for row in rows]
    kept = [place for place in range(len(columns)) if any(row[place] for row in body)]
    lines = [[columns[place] for place in kept], ["---"] * len(kept), *([row[place] for place in kept] for row in body)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def code(value: object) -> str:
    """A value as it would be typed."""
    return f"`{value}`"


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n", 1)[0]


def documented(thing: object, heading: str) -> dict[str, str]:
    """What the section `heading` of a Google-style docstring (`Attributes`, `Args`) says about each name."""
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in (inspect.getdoc(thing) or "").splitlines():
        if line == f"{heading}:":
            inside = True
        elif inside and line and not line.startswith(" "):
            break
        elif inside and (match := ATTRIBUTE.match(line[4:])) and line.startswith("    ") and line[4:5] != " ":
            name = match[1]
            found[name] = match[2]
        elif inside and line.strip() and name:
            found[name] += " " + line.strip()
    return found


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
