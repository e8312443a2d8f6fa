"""The examples of a Markdown page: its fenced blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```[ \t]*$", re.MULTILINE | re.DOTALL
)
TITLE = re.compile(r'title="([^"]+)"')
PROMPT = "$ "


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        language: First word of its info string.
        title: The file it stands for, if it is one.
        text: What is in it.
        line: Where its text begins in the page.
    """

    language: str
    title: str | None
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        """What is typed at a prompt, in a transcript."""
        return [line.removeprefix(PROMPT) for line in self.text.splitlines() if line.startswith(PROMPT)]


def fenced_blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        info, title = match["info"].strip(), TITLE.search(match["info"])
        line = text[: match.start("text")].count("\n") + 1
        found.append(Block(info.split(" ")[0], title[1] if title else None, match["text"], line))
    return found
