"""The manual: all pages of the site, in the order of its navigation, as one printable PDF."""

from __future__ import annotations

import posixpath
import shutil
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import typst
import yaml

from documentation.pages import ROOT, generated_pages
from documentation.typst_markup import PARSER, Markup, label, literal, slug
from hybrid_scheduler import __version__

TEMPLATE = Path(__file__).parent / "manual.typ"
DECISIONS = "adr/README.md"
PICTURES = "pictures"
SCREENSHOTS = "screenshots"
PAGE_LEVEL = 2


class Manual:
    """The pages, and the links between them."""

    def __init__(self) -> None:
        self._generated = generated_pages()
        nav: list[dict[str, Any]] = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
        self.parts = {part: list(self._present(pages)) for each in nav for part, pages in each.items()}
        self._labels = {found for pages in self.parts.values() for place in pages for found in self._labels_of(place)}

    def source(self) -> str:
        """The whole manual as Typst."""
        facts = f"#let version = {literal(__version__)}\n#let made = {literal(date.today().isoformat())}\n"
        written = [facts, TEMPLATE.read_text("utf-8")]
        for part, pages in self.parts.items():
            written.append(f"#heading(level: 1)[#{literal(part)}]\n")
            written += [Markup(place, PAGE_LEVEL, self._target).page(self._text(place)) for place in pages]
        return "\n".join(written)

    def compiled(self, form: Literal["pdf", "png"] = "pdf", ppi: float = 60.0) -> list[bytes]:
        """The PDF, or one picture per page."""
        with TemporaryDirectory(prefix="hms-manual-") as name:
            folder = Path(name)
            for pictures in (PICTURES, SCREENSHOTS):
                shutil.copytree(ROOT / "docs" / pictures, folder / pictures)
            (folder / "manual.typ").write_text(self.source(), encoding="utf-8")
            found: Any = typst.compile(
                str(folder / "manual.typ"), root=name, format=form, ppi=ppi, ignore_system_fonts=True
            )
        return found if isinstance(found, list) else [found]

    def _present(self, pages: list[dict[str, str]]) -> Iterator[str]:
        """The pages of a part that are there, the decision records after their list."""
        for place in (place for page in pages for place in page.values()):
            if place in self._generated or (ROOT / "docs" / place).is_file():
                yield place
            if place == DECISIONS:
                yield from (f"adr/{file.name}" for file in sorted((ROOT / "docs" / "adr").glob("0*.md")))

    def _text(self, place: str) -> str:
        return self._generated.get(place) or (ROOT / "docs" / place).read_text("utf-8")

    def _labels_of(self, place: str) -> Iterator[str]:
        tokens = PARSER.parse(self._text(place))
        for token, content in pairwise(tokens):
            if token.type == "heading_open":
                words = "".join(child.content for child in content.children or ())
                yield label(place, "" if token.tag == "h1" else slug(words))

    def _target(self, place: str, address: str) -> str | None:
        """The label an address of a page leads to; None when it leads out of the manual."""
        path, _, anchor = address.partition("#")
        where = posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place
        return next((found for found in (label(where, anchor), where) if found in self._labels), None)
