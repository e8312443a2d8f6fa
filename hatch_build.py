"""Build hook: wheel and sdist carry the dashboard; where it has not been built yet, it is built with Node.js."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = Path("src/hybrid_scheduler/server/static/index.html")
SOURCES = Path("dashboard")


class DashboardHook(BuildHookInterface[BuilderConfig]):
    """Found by hatchling under the name `custom`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before anything is collected; an editable installation leaves the dashboard to the scripts that start it."""
        root = Path(self.root)
        if version == "editable" or (root / BUILT).is_file():
            return
        npm = shutil.which("npm")
        if npm is None or not (root / SOURCES / "package.json").is_file():
            lacking = "Node.js is not installed" if npm is None else f"there is no folder {SOURCES}"
            self.app.display_warning(f"{lacking}, so the dashboard is not built; a plain page stands in for it")
            return
        for command in (("ci", "--no-audit", "--no-fund"), ("run", "build")):
            subprocess.run([npm, *command], cwd=root / SOURCES, check=True)
