"""An engine that ends in the middle of beginning leaves no run that looks like an accident."""

from __future__ import annotations

import pickle
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from databases import NewDatabase
from live_service import LIGHT, until
from pydantic import SecretStr

from hybrid_scheduler.config import Config
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.live.link import BEGIN, EngineLink, packed
from hybrid_scheduler.live.notifier import Notifier
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.runner import Runner
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.live.writer import Writer

START = LiveStart(Config(), LIGHT)


def statuses(url: str) -> list[tuple[str]]:
    with closing(sqlite3.connect(url.partition(":///")[2], timeout=20)) as connection:
        try:
            return connection.execute("SELECT status FROM runs").fetchall()
        except sqlite3.OperationalError:
            return []  # there are no tables yet


def test_a_run_that_is_only_asked_for_is_ended_too(new_sqlite: NewDatabase) -> None:
    url = new_sqlite()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        notifier = Notifier(EngineLink(theirs))
        writer = Writer(url, "me", notifier.log)
        writer.open()
        try:
            until(lambda: writer.owned, "the lease")
            runner = Runner(
                ServiceSettings(database_url=SecretStr(url)), Plan.of(START), writer, notifier, lambda: None
            )
            runner.turn()
            assert runner.session is None, "the store cannot have answered within a turn"
            runner.close()
        finally:
            writer.close()
    assert statuses(url) == [("finished",)]


def test_an_engine_whose_server_hangs_up_puts_its_run_away(new_sqlite: NewDatabase, tmp_path: Path) -> None:
    url = new_sqlite()
    ours, theirs = socket.socketpair()
    with ours:
        command = [sys.executable, "-P", "-m", "hybrid_scheduler.live", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=tmp_path)
        try:
            theirs.close()
            ours.sendall(
                packed(BEGIN, pickle.dumps((ServiceSettings(database_url=SecretStr(url)).model_dump(), START)))
            )
            until(lambda: statuses(url), "a run")
            ours.shutdown(socket.SHUT_WR)
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.wait()
    assert statuses(url) == [("finished",)]
