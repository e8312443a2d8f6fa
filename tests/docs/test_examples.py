"""Every example in README and in the documentation works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fenced_blocks import fenced_blocks
from page_runner import NOT_RUN, SHELL

from hybrid_scheduler.config import load_config

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "METHODOLOGY.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNNABLE = {"python", "console", *SHELL}
SHOWN_ONLY = {"", "text", "toml", "yaml", "json", "ini"}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_EXAMPLES = [page for page in PAGES if any(block.language in RUNNABLE for block in fenced_blocks(page))]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=_name)
def test_examples_work(page: Path, tmp_path: Path) -> None:
    """Each page in a folder of its own, as a reader would try it."""
    installed = tmp_path / "installed"
    work = tmp_path / "work"
    work.mkdir()
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("NUM_GPUS", "POSTGRES", "REDIS"))},
        # `pip install .` builds and installs for real, but beside the page, without the network.
        "PIP_TARGET": str(installed),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": str(installed),
        "PYTHONWARNINGS": "ignore",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "page_runner.py"), str(page)],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{_name(page)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_languages_are_known(page: Path) -> None:
    """A misspelt language would be an example that nobody runs."""
    for block in fenced_blocks(page):
        assert block.language in RUNNABLE | SHOWN_ONLY, f"{_name(page)}, line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_no_command_hides_in_a_block_that_is_only_shown(page: Path) -> None:
    """A command belongs into `sh` or `console`, so that it is run, unless there is a reason."""
    for block in fenced_blocks(page):
        if block.language in ("", "text") and block.title is None:
            commands = [line for line in block.text.splitlines() if line.startswith(("hms ", "python ", "$ "))]
            assert [each for each in commands if not each.startswith(tuple(NOT_RUN))] == [], f"line {block.line}"


def test_configuration_examples_are_valid(tmp_path: Path) -> None:
    """Whatever is shown as `config.yaml` can be read, except where it names a scheduler of the page itself."""
    pages = set()
    for page in PAGES:
        for block in fenced_blocks(page):
            if block.language == "yaml" and block.title in (None, "config.yaml") and "shortest" not in block.text:
                file = tmp_path / "config.yaml"
                file.write_text(block.text, encoding="utf-8")
                load_config(file, {})
                pages.add(page.name)
    assert {"README.md", "own-node.md"} <= pages


def test_most_examples_run() -> None:
    """The list of commands that are shown but not run is not a way out: none of them is dead."""
    shown = [command for page in PAGES for block in fenced_blocks(page) for command in block.commands]
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in shown), f"no page shows {start!r} any more"
