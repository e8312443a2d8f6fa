"""Markdown as Typst: the plain kind these pages are written in, and an error for anything else.

All text goes over as string literals (`#"..."`), so nothing in it can mean something to Typst.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node

BREAKABLE = re.compile(r"(?<=[_./,:=|(\[])(?=\w)")
ZERO_WIDTH = "\u200b"
NARROWEST, WIDEST, MARGIN = 6, 46, 4
"""Letters by which a column of a table is at least and at most weighed, and what is added to its longest cell."""
TITLE = re.compile(r'title="([^"]+)"')
PARSER = MarkdownIt("commonmark").enable("table")


def slug(heading: str) -> str:
    """The anchor of a heading, as the site makes it."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def literal(text: str) -> str:
    """A string of Typst."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True)
class Markup:
    """Turns one page into Typst.

    Attributes:
        place: Where the page stands in the site.
        level: Level of its first heading.
        target: What a link of this page leads to: a label of Typst, or None for an address outside the manual.
    """

    place: str
    level: int
    target: Callable[[str, str], str | None]

    def page(self, text: str) -> str:
        """The whole page."""
        return "\n\n".join(self._block(node) for node in Node(PARSER.parse(text)).children) + "\n"

    def _block(self, node: Node, *, in_table: bool = False) -> str:
        if node.type == "heading":
            return self._heading(node)
        if node.type == "paragraph":
            return self._inlines(node, in_table=in_table)
        if node.type in ("fence", "code_block"):
            return _code(node)
        if node.type in ("bullet_list", "ordered_list"):
            name = "list" if node.type == "bullet_list" else "enum"
            items = (f"[{self._blocks(item.children)}]" for item in node.children)
            return f"#{name}({', '.join(items)})"
        if node.type == "table":
            return self._table(node)
        if node.type == "blockquote":
            return f"#quote(block: true)[{self._blocks(node.children)}]"
        raise ValueError(f"{self.place}: the manual has no way to set a {node.type!r}; write it another way")

    def _blocks(self, nodes: Iterable[Node]) -> str:
        return "\n\n".join(self._block(node) for node in nodes)

    def _heading(self, node: Node) -> str:
        level = int(node.tag[1:])
        text = "".join(part.content for inline in node.children for part in inline.walk() if part.type != "inline")
        anchor = "" if level == 1 else slug(text)
        name = literal(label(self.place, anchor))
        return f"#heading(level: {self.level + level - 1})[{self._inlines(node)}]#label({name})"

    def _inlines(self, node: Node, *, in_table: bool = False) -> str:
        return "".join(
            self._inline(part, in_table=in_table)
            for inline in node.children
            for part in (inline.children if inline.type == "inline" else [inline])
        )

    def _inline(self, node: Node, *, in_table: bool) -> str:
        inside = "".join(self._inline(child, in_table=in_table) for child in node.children)
        if node.type == "text":
            return f"#{literal(node.content)}"
        if node.type in ("softbreak", "hardbreak"):
            return '#" "'
        if node.type == "code_inline":
            content = BREAKABLE.sub(ZERO_WIDTH, node.content) if in_table else node.content
            return f"#raw({literal(content)})"
        if node.type == "em":
            return f"#emph[{inside}]"
        if node.type == "strong":
            return f"#strong[{inside}]"
        if node.type == "link":
            return self._link(str(node.attrs["href"]), inside)
        if node.type == "image":
            source = posixpath.normpath(posixpath.join(posixpath.dirname(self.place), str(node.attrs["src"])))
            return f"#figure(image({literal(source)}, width: 100%))"
        raise ValueError(f"{self.place}: the manual has no way to set a {node.type!r}; write it another way")

    def _link(self, address: str, inside: str) -> str:
        if "://" in address:
            return f"#link({literal(address)})[{inside}]"
        found = self.target(self.place, address)
        return inside if found is None else f"#link(label({literal(found)}))[{inside}]"

    def _table(self, node: Node) -> str:
        head, *bodies = node.children
        rows = [row.children for part in (head, *bodies) for row in part.children]
        letters = [
            [len("".join(part.content for part in cell.walk() if part.type in ("text", "code_inline"))) for cell in row]
            for row in rows
        ]
        weights = [min(max(*column, NARROWEST) + MARGIN, WIDEST) for column in zip(*letters, strict=True)]
        columns = ", ".join(f"{weight}fr" for weight in weights)
        cells = [[f"[{self._inlines(cell, in_table=True)}]" for cell in row] for row in rows]
        body = ",\n  ".join(", ".join(row) for row in cells[1:])
        # A heading of empty cells is Markdown's way to do without one.
        titles = ", ".join(f"strong{cell}" for cell in cells[0])
        header = f"table.header({titles}), " if any(letters[0]) else ""
        return f"#table(columns: ({columns},), {header}\n  {body})"


def label(place: str, anchor: str) -> str:
    """The label of a heading; of the page itself without an anchor."""
    return f"{place}#{anchor}" if anchor else place


def _code(node: Node) -> str:
    language = (node.info or "").split(" ")[0]
    lang = f", lang: {literal(language)}" if language not in ("", "text", "console") else ""
    title = TITLE.search(node.info or "")
    shown = f"#code-title({literal(title[1])})\n" if title else ""
    return f"{shown}#raw({literal(node.content.rstrip())}, block: true{lang})"
