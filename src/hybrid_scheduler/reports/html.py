"""A report as one web page that needs nothing else: pictures and style are inside."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from hybrid_scheduler.reports.catalogue import Picture
from hybrid_scheduler.reports.content import Report, Section, Table

TEMPLATE = "report.html"
VERDICTS = ("better", "worse")


def write_html(report: Report, path: Path) -> Path:
    """Write the page."""
    template = Template((files("hybrid_scheduler.reports") / "templates" / TEMPLATE).read_text(encoding="utf-8"))
    page = template.substitute(
        title=escape(report.title),
        question=escape(report.question),
        facts=escape(report.facts),
        summary="\n".join(f"<li>{escape(sentence)}</li>" for sentence in report.summary),
        sections="\n".join(map(_section, report.sections)),
    )
    path.write_text(page, encoding="utf-8")
    return path


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    parts += [f"<p>{escape(words)}</p>" for words in section.paragraphs]
    parts += [_table(table) for table in section.tables]
    parts += [_picture(picture) for picture in section.pictures]
    return f"<section>{''.join(parts)}</section>"


def _table(table: Table) -> str:
    def kind(column: int, words: str) -> str:
        classes = ["words" if column in table.text_columns else "figure", *([words] if words in VERDICTS else [])]
        return f' class="{" ".join(classes)}"'

    head = "".join(f"<th{kind(k, '')}>{escape(words)}</th>" for k, words in enumerate(table.columns))
    rows = "".join(
        f"<tr>{''.join(f'<td{kind(k, words)}>{escape(words)}</td>' for k, words in enumerate(row))}</tr>"
        for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _picture(picture: Picture) -> str:
    inside = b64encode(picture.path.read_bytes()).decode()
    words = escape(picture.caption)
    return (
        f'<figure id="{escape(picture.name)}"><img alt="{words}" src="data:image/png;base64,{inside}">'
        f"<figcaption>{words}</figcaption></figure>"
    )
