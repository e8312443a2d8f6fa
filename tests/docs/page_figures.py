"""The figures of a page: those that are stated must be the code's."""

from __future__ import annotations

import re
from collections.abc import Iterable

FENCED = re.compile(r"^ *```.*?^ *```[ \t]*$", re.MULTILINE | re.DOTALL)
NUMBERING = re.compile(r"^\s*\d+\. ", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ADDRESS = re.compile(r"\]\([^)]*\)|<https?:[^>]*>")
CODE = re.compile(r"`[^`]*`")
BORDER = re.compile(r"(?<=[.;:|])\s+")
RECORD = re.compile(r"\[ADR \d+\]")


def prose(text: str) -> str:
    """A page on one line, without its examples and without the addresses of its links."""
    for part in (FENCED, COMMENT, NUMBERING):
        text = part.sub(" ", text)
    return " ".join(ADDRESS.sub("]", text).split())


def missing(text: str, facts: Iterable[str]) -> list[str]:
    """The facts that a page does not state in these words: what the code says has changed, or the page."""
    words = prose(text)
    return [fact for fact in facts if fact not in words]


def unexplained(text: str, known: Iterable[str]) -> list[str]:
    """Phrases with a number that stand in none of the known phrases; what is typed (`--gpus 2`) is an example."""
    words = prose(text)
    for phrase in sorted(known, key=len, reverse=True):
        words = words.replace(phrase, " ")
    pieces = BORDER.split(CODE.sub(" ", RECORD.sub(" ", words)))
    return [piece for piece in pieces if re.search(r"\d", piece)]
