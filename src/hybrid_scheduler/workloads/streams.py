"""Random numbers: one independent generator per column.

Each column draws from its own generator, one value after the other, so the values of a task depend neither on how many
tasks are drawn at a time nor on which other columns are drawn at all.
"""

from __future__ import annotations

import zlib

import numpy as np


class Streams:
    """Generators spawned from one seed and told apart by name; each is made when it is first asked for."""

    def __init__(self, seed: int, path: tuple[int, ...] = ()) -> None:
        self._seed = seed
        self._path = path
        self._made: dict[str, np.random.Generator] = {}
        self._branches: dict[str, Streams] = {}

    def of(self, column: str) -> np.random.Generator:
        """The generator of this column."""
        if column not in self._made:
            sequence = np.random.SeedSequence(self._seed, spawn_key=self._key(column))
            self._made[column] = np.random.default_rng(sequence)
        return self._made[column]

    def branch(self, name: str) -> Streams:
        """A family of generators of its own, for a part that has the same columns again."""
        if name not in self._branches:
            self._branches[name] = Streams(self._seed, self._key(name))
        return self._branches[name]

    def _key(self, name: str) -> tuple[int, ...]:
        # Keyed by name, not by number: a column added later leaves the values of the others as they were.
        return (*self._path, zlib.crc32(name.encode()))
