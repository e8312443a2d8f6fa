"""One executor for the tests that need nothing special."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybrid_scheduler.executor.executor import Executor


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with Executor(lanes=2, remember=False) as made:
        yield made
