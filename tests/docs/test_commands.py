"""Every command that a page names exists and takes what it is given, also where nothing runs it.

Examples in blocks are run (test_examples.py). Here are those in the middle of a sentence, those in transcripts that are
shown but not run, and options named by themselves: they are read by the commands' own parsers.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from fenced_blocks import fenced_blocks
from page_figures import FENCED
from page_runner import NOT_RUN

from hybrid_scheduler.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "METHODOLOGY.md", "CONTRIBUTING.md", "RESULTS.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
]
HMS = typer.main.get_command(app)
CODE = re.compile(r"`([^`]+)`")
SETTING = re.compile(r"^[A-Z_]+=\S* ")
FOREIGN = {
    "--hypothesis-profile": "pytest",
    "--index-url": "pip",
    "--no-deps": "pip",
    "--fast": "run_tests.sh",
    "--strict": "mkdocs",
}
"""Options of other programs."""


def _inline(page: Path) -> Iterator[str]:
    """What stands between backticks in the text, on one line."""
    text = FENCED.sub("", page.read_text("utf-8"))
    yield from (" ".join(code.split()) for code in CODE.findall(text))


def _shown(page: Path) -> Iterator[str]:
    """Commands of blocks that nothing runs."""
    for block in fenced_blocks(page):
        lines = block.commands if block.language == "console" else block.text.splitlines()
        if block.language in ("", "text", "console"):
            yield from (
                line.split("  #")[0].strip() for line in lines if SETTING.sub("", line).startswith(tuple(NOT_RUN))
            )


def _commands(start: str) -> list[tuple[str, str]]:
    return sorted(
        {
            (SETTING.sub("", command), page.relative_to(ROOT).as_posix())
            for page in PAGES
            for command in (*_inline(page), *_shown(page))
            if re.match(start, SETTING.sub("", command))
        }
    )


def _known(command: Any) -> set[str]:
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def _all_commands(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield from _all_commands(command) if hasattr(command, "commands") else [command]


def _parse(words: list[str]) -> None:
    """Have the command's own parser read the words; a command that is only named needs no arguments."""
    command: Any = HMS
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands"):
        assert set(words) <= _known(command) | {"--help", "-h"}
    elif words:
        command.make_context("hms", words)


@pytest.mark.parametrize(("command", "page"), _commands(r"(\./)?hms( |$)"))
def test_hms_takes_it(command: str, page: str) -> None:
    _parse(shlex.split(command.replace("…", ""))[1:])


@pytest.mark.parametrize(("command", "page"), _commands(r"\./\w+\.sh|python "))
def test_scripts_are_there(command: str, page: str) -> None:
    first, *rest = command.split()
    if first != "python":
        assert os.access(ROOT / first, os.X_OK)
    elif rest[0] == "-m":
        assert find_spec(rest[1]) is not None
    else:
        here = (ROOT / page).parent
        assert (ROOT / rest[0]).is_file() or (here / rest[0]).is_file()


def test_options_exist() -> None:
    """Those that are named by themselves, like `--load 0.6`, are options of some command."""
    known = {option for command in (HMS, *_all_commands(HMS)) for option in _known(command)} | {"--help"}
    named = {(code.split("=")[0].split()[0], page.name) for page in PAGES for code in _inline(page) if code[:2] == "--"}
    assert len(named) > 30
    assert {(option, page) for option, page in named if option not in known | FOREIGN.keys()} == set()


def test_the_parser_would_notice() -> None:
    for wrong in (["comparre"], ["compare", "--lod", "0.6"], ["compare", "--tasks", "many"], ["db", "exprot"]):
        with pytest.raises((AssertionError, typer.TyperException)):
            _parse(wrong)
