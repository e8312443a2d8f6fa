"""The site builds, is complete, and needs nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from documentation.pages import generated_pages
from documentation.tables import documented, table

from hybrid_scheduler.config.files import VARIABLES
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.experiments.registry import experiment_classes
from hybrid_scheduler.metrics.registry import metric_classes
from hybrid_scheduler.schedulers.registry import scheduler_names
from hybrid_scheduler.workloads import GRAPH_PRESETS, PRESETS
from hybrid_scheduler.workloads.readers.assumptions import RULES
from hybrid_scheduler.workloads.readers.registry import reader_names

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}


class Loads(HTMLParser):
    """Collects what a browser loads by itself: not the links a reader may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        address = values.get(LOADING[tag]) if tag in LOADING else None
        if tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            address = values.get("href")
        if address:
            self.found.append(address)


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    return generated_pages()


def test_builds_without_a_warning(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert (site / "reference" / "api.html").is_file()
    assert (site / "methodology.html").is_file()


def test_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = Loads()
    for page in site.rglob("*.html"):
        loaded.feed(page.read_text("utf-8"))
    assert any(address.endswith(".css") for address in loaded.found)
    assert [address for address in loaded.found if re.match(r"(https?:)?//", address)] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text("utf-8")), style


def test_reference_is_complete(reference: dict[str, str]) -> None:
    wanted = {
        "reference/schedulers.md": [f"## {name}\n" for name in scheduler_names()],
        "reference/metrics.md": [f"| `{name}` |" for name in metric_classes()],
        "reference/presets.md": [f"| `{name}` |" for name in (*PRESETS, *GRAPH_PRESETS)],
        "reference/formats.md": [*(f"## {name}\n" for name in reader_names()), *(f"| `{rule}` |" for rule in RULES)],
        "reference/experiments.md": [f"## {name}\n" for name in experiment_classes()],
        "reference/settings.md": [f"| `{name.upper()}` |" for name in (*ServiceSettings.model_fields, *VARIABLES)],
        "reference/command-line.md": [
            "## hms compare\n",
            "## hms serve\n",
            "### hms db export\n",
            "`--energy-weight W`",
        ],
        "reference/api.md": ["### POST /api/tasks\n", "### SimulationUpdate\n", "### GET /api/metrics\n"],
    }
    for page, parts in wanted.items():
        missing = [part for part in parts if part not in reference[page]]
        assert not missing, f"{page} does not say {missing}"


def test_every_api_call_and_shape_links_somewhere(reference: dict[str, str]) -> None:
    page = reference["reference/api.md"]
    headings = {line[4:].lower() for line in page.splitlines() if line.startswith("### ")}
    links = re.findall(r"\]\(#(\w+)\)", page)
    assert links
    assert [link for link in links if link not in headings] == []


def test_links_of_root_pages_stay_in_the_site(reference: dict[str, str]) -> None:
    assert "](adr/0003-counter-based-randomness.md)" in reference["contributing.md"]
    assert "docs/" not in re.sub(r"`[^`]*`", "", reference["methodology.md"])


def test_tables_leave_out_empty_columns_and_escape_bars() -> None:
    assert table(("a", "b", "c"), [("x|y", "", 1)]) == "| a | c |\n| --- | --- |\n| x\\|y | 1 |\n"


def test_documented_reads_google_style() -> None:
    class Example:
        """A line.

        Attributes:
            first: What it is,
                on two lines.
            second: Short.

        Raises:
            ValueError: Never.
        """

    assert documented(Example, "Attributes") == {"first": "What it is, on two lines.", "second": "Short."}
