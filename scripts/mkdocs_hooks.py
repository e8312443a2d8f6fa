"""Hooks of `mkdocs.yml`: the pages that are made from the code join the others when the site is built."""

from __future__ import annotations

from typing import Any

from documentation.pages import ROOT_PAGES, generated_pages, present_root_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave pages out of the navigation whose file is not in this checkout."""
    absent = ROOT_PAGES.keys() - present_root_pages().keys()
    config.nav = _without(config.nav or [], absent)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for place, text in generated_pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def _without(nav: Any, absent: set[str]) -> Any:
    """The navigation without these pages, and without headings that have nothing left."""
    if isinstance(nav, list):
        kept = [_without(each, absent) for each in nav]
        return [each for each in kept if each]
    if isinstance(nav, dict):
        kept_below = {key: _without(value, absent) for key, value in nav.items()}
        return {key: value for key, value in kept_below.items() if value}
    return None if nav in absent else nav
