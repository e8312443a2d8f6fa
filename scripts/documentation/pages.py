"""Every page that is not a file of `docs/`: references made from the code, and files of the repository's root."""

from __future__ import annotations

import re
from pathlib import Path

from documentation.api import api_page, openapi_document
from documentation.command_line import command_line_page
from documentation.registries import experiments_page, formats_page, metrics_page, presets_page, schedulers_page
from documentation.settings import settings_page

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = {
    "methodology.md": "METHODOLOGY.md",
    "results.md": "RESULTS.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
"""Pages of the site that are files of the repository's root; one that is not there is left out of the site."""
LINK = re.compile(r"\]\((?:docs/)?([^):#]+)(#[^)]*)?\)")


def generated_pages() -> dict[str, str]:
    """The Markdown of each, by its place in the site."""
    return {
        "reference/command-line.md": command_line_page(),
        "reference/settings.md": settings_page(),
        "reference/api.md": api_page(openapi_document()),
        "reference/schedulers.md": schedulers_page(),
        "reference/metrics.md": metrics_page(),
        "reference/presets.md": presets_page(),
        "reference/formats.md": formats_page(),
        "reference/experiments.md": experiments_page(),
        **{page: _as_page((ROOT / file).read_text("utf-8")) for page, file in present_root_pages().items()},
    }


def present_root_pages() -> dict[str, str]:
    """Those of `ROOT_PAGES` whose file is there."""
    return {page: file for page, file in ROOT_PAGES.items() if (ROOT / file).is_file()}


def _as_page(text: str) -> str:
    """Links relative to the root become links relative to the site; one that leads out of the site becomes text."""
    places = {file: page for page, file in present_root_pages().items()}

    def place(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        target = places.get(target, target)
        inside = target in places.values() or (ROOT / "docs" / target).exists()
        return f"]({_index(target)}{anchor})" if inside else "]"

    return LINK.sub(place, text)


def _index(target: str) -> str:
    return f"{target}README.md" if target.endswith("/") else target
