"""Room kept beside an SQLite store, so that a full disk can be put right: deleting needs room for the log first.

Ordinary writes are made only while the reserve is in place and some more room is left; clearing and pruning give it up
when they need it. It is made again as soon as there is room.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hybrid_scheduler.store.errors import FULL, StoreUnavailableError
from hybrid_scheduler.store.failures import MESSAGES, NO_ROOM

LEAST, MOST = 1 << 20, 4 << 20
SHARE = 0.02
"""Of the store's file."""
LEFT_FREE = 8 << 20
"""Bytes of the disk that ordinary writes leave alone: the log must still fit into the file. On a small disk a tenth."""


class Reserve:
    """The reserve of one store; several processes may use it.

    Args:
        store: The store's file.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self.file = store.with_name(f"{store.name}-reserve")

    def size(self) -> int:
        """Bytes it takes up now."""
        try:
            return self.file.stat().st_size
        except FileNotFoundError:
            return 0

    def hold(self) -> None:
        """See to it that the reserve is in place, before something is written.

        Raises:
            StoreUnavailableError: The disk is too full for that, or almost.
        """
        wanted = min(max(int(self._store.stat().st_size * SHARE), LEAST), MOST)
        held, disk = self.size(), shutil.disk_usage(self._store.parent)
        spare = min(LEFT_FREE, disk.total // 10)
        if held < wanted and disk.free >= spare + 2 * wanted:  # a half-made one must not end what made room
            held = self._make(wanted)
        if held == 0 or disk.free < spare:
            reason = f"{disk.free / 1e6:.1f} MB are left, {(spare + wanted - held) / 1e6:.1f} MB are needed"
            raise StoreUnavailableError(MESSAGES[FULL].format(shown=self._store, reason=reason), FULL)

    def release(self, most: int = MOST) -> bool:
        """Give the room free, or as much of it; False: there is none."""
        left = self.size() - most
        try:
            if left > 0:
                os.truncate(self.file, left)
            else:
                self.file.unlink()
        except FileNotFoundError:
            return False
        return True

    def _make(self, size: int) -> int:
        unfinished = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        try:
            handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(os.urandom(size))  # zeros would take no room on a file system that compresses
            os.replace(unfinished, self.file)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            if error.errno not in NO_ROOM:
                raise
            return 0
        return size
