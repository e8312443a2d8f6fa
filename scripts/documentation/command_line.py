"""The reference of the command line, from Typer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from documentation.tables import code, table
from hybrid_scheduler.cli import app

INTRODUCTION = """# Command line

Every command explains itself with `--help`. Bad input is one line on standard error and exit code 2;
`HMS_DEBUG=1` adds the traceback. `--json -` prints the JSON document on standard output and nothing else.
"""
REMARK = re.compile(r"\s*\[(?P<remark>[^\]]*)\]$")


def command_line_page() -> str:
    """The page."""
    root = typer.main.get_command(app)
    return "\n".join([INTRODUCTION, *_commands(root, "hms", 2)])


def _commands(group: Any, path: str, level: int) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        yield f"{'#' * level} {path} {name}\n"
        yield f"{command.help}\n"
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}", level + 1)
        else:
            yield table(("option", "what it does", "default"), _options(command, f"{path} {name}"))


def _options(command: Any, path: str) -> Iterator[tuple[str, str, str]]:
    context = typer.Context(command, info_name=path)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is None or "--help" in parameter.opts:
            continue
        names, text = record
        remark = REMARK.search(text)
        default = remark["remark"].removeprefix("default: ") if remark else ""
        yield code(names), REMARK.sub("", text), default
