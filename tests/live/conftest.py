"""Real servers for the tests of the live engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_service import LiveService, NewLive


@pytest.fixture
def new_live(tmp_path: Path) -> Iterator[NewLive]:
    """Makes servers in folders of their own by `(name, database, *options, **environment)`; none outlives the test."""
    made: list[LiveService] = []

    def make(name: str, database: str, *options: str, **environment: str) -> LiveService:
        made.append(LiveService(tmp_path / name, database, *options, **environment))
        return made[-1]

    yield make
    for service in made:
        service.close()


@pytest.fixture
def live(database_url: str, new_live: NewLive) -> LiveService:
    """A server of a light race on each kind of database, not started."""
    return new_live("live", database_url)
