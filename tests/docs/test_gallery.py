"""How to read every panel and plot: none is left out, each has a picture and a few sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_figures import prose

from hybrid_scheduler.reports.catalogue import PLOTS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "gallery.md").read_text("utf-8")
ENTRIES = dict(part.split("\n", 1) for part in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:])
PICTURE = re.compile(r"!\[[^\]]+\]\((pictures/gallery/[\w.-]+)\)")
WIDGETS = ROOT / "dashboard" / "src" / "widgets"
PANELS = dict(
    re.findall(r'^\s+(\w+): \(\) => import\("\./([\w-]+)"\)', (WIDGETS / "index.ts").read_text("utf-8"), re.M)
)
LARGEST = 3_000_000
"""Bytes of all pictures together."""


def test_every_panel_is_explained_under_its_title() -> None:
    assert len(PANELS) >= 17, "widgets/index.ts is no longer read rightly"
    titles = {}
    for panel, file in PANELS.items():
        source = (WIDGETS / f"{file}.tsx").read_text("utf-8")
        titles[re.search(r'export const title = "(.+)"', source)[1]] = panel  # type: ignore[index]
    explained = {title: PICTURE.findall(ENTRIES.get(title, "")) for title in titles}
    assert explained == {title: [f"pictures/gallery/panel-{panel}.png"] for title, panel in titles.items()}


def test_every_plot_is_explained_under_its_name() -> None:
    explained = {name: PICTURE.findall(ENTRIES.get(name, "")) for name in PLOTS}
    assert explained == {name: [f"pictures/gallery/plot-{name}.png"] for name in PLOTS}


@pytest.mark.parametrize("title", ENTRIES)
def test_an_entry_has_a_picture_and_a_few_sentences(title: str) -> None:
    text = ENTRIES[title].split("\n## ")[0]
    (picture,) = PICTURE.findall(text)
    assert (DOCS / picture).is_file(), f"{picture} is missing; `python scripts/make_gallery.py` makes it"
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", prose(PICTURE.sub("", text)))
    assert 2 <= len(sentences) <= 5, sentences


def test_no_picture_is_left_over() -> None:
    folder = DOCS / "pictures" / "gallery"
    files = list(folder.iterdir())
    assert {f"pictures/gallery/{file.name}" for file in files} == set(PICTURE.findall(PAGE))
    assert sum(file.stat().st_size for file in files) < LARGEST
