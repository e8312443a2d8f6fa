"""Runs the examples of one page in the working folder, in order: `python page_runner.py PAGE`.

Python blocks share one namespace, as a reader would type them. A block with a title is a file and is written. Shell
blocks run in bash; those that are nothing but `hms` commands run in this process, which saves loading everything anew.
In a transcript (`console`) the commands run and the output shown is not compared.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from fenced_blocks import Block, fenced_blocks

SHELL = ("sh", "bash")
PLAIN_COMMAND = re.compile(r"(\./)?hms( [\w./:,=+\-']+)*")
NOT_RUN = {
    "./run_tests.sh": "it is the gate these tests are part of",
    "pip install hybrid-ml-scheduler": "it would install from the network",
    "./run_live_dashboard.sh": "it runs until it is stopped; tests/server starts the service",
    "hms serve": "it runs until it is stopped; tests/server starts it",
    "jupyter": "it opens a browser; tests/docs/test_notebooks.py runs the notebooks",
    "python examples/gymnasium_agents": "it takes minutes; tests/training runs the environment",
    "tensorboard ": "it runs until it is stopped; tests/schedulers/test_tensorboard.py reads what it shows",
    "docker ": "it needs a container engine; tests/packaging checks the files",
    "sudo ": "it changes the machine",
    "cp deploy/env.example": "it belongs to the container set-up",
}
"""Commands of transcripts that are shown but not run, and why."""


def run_page(page: Path) -> None:
    """Run everything."""
    blocks = fenced_blocks(page)
    installs = any("pip install ." in block.text for block in blocks)
    names: dict[str, object] = {"__name__": "__main__"}
    sys.path.insert(0, str(Path.cwd()))
    for block in blocks:
        if block.title is not None:
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            exec(code, names)
        elif block.language in SHELL:
            _shell(page, block, block.text, in_process=not installs)
        elif block.language == "console":
            for command in block.commands:
                if not command.startswith(tuple(NOT_RUN)):
                    _shell(page, block, command.split("  #")[0], in_process=not installs)


def _shell(page: Path, block: Block, script: str, *, in_process: bool) -> None:
    lines = [line for line in script.splitlines() if line.strip()]
    if in_process and all(PLAIN_COMMAND.fullmatch(line.strip()) for line in lines):
        from hybrid_scheduler.cli import main

        for line in lines:
            if code := main(shlex.split(line)[1:]):
                raise SystemExit(f"{page}, line {block.line}: {line!r} ended with exit code {code}")
        return
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], env={**os.environ, "PATH": path}, check=False, timeout=120
    )
    if done.returncode:
        raise SystemExit(f"{page}, line {block.line}: the shell ended with exit code {done.returncode}")


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
