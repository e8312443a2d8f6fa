"""The engine's process: advances the race, answers commands and sends live messages until it is told to end."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import uuid
from typing import NoReturn

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.live.command_queue import CommandQueue
from hybrid_scheduler.live.link import BEGIN, EngineLink
from hybrid_scheduler.live.notifier import Notifier
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.reporter import Reporter
from hybrid_scheduler.live.runner import Runner
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.live.writer import Writer
from hybrid_scheduler.model.errors import HybridSchedulerError
from hybrid_scheduler.store import Retention

TICK = 0.04
"""Seconds between two turns when there is nothing to do at once."""


class Engine:
    """One process's live engine."""

    def __init__(self, link: EngineLink, settings: ServiceSettings, start: LiveStart) -> None:
        self._link, self._notifier = link, Notifier(link)
        owner = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        limits = Retention(settings.retention_days, settings.retention_tasks, settings.retention_mb)
        self._writer = Writer(settings.database, owner, self._notifier.log, limits)
        self._writer.open()
        self._runner = Runner(settings, Plan.of(start), self._writer, self._notifier, link.wake)
        self._commands = CommandQueue(link, self._runner)
        self._reporter = Reporter(link, self._runner, self._notifier, settings.update_hz)
        self._ending = False

    def end(self) -> None:
        """Leave the loop at the next turn."""
        self._ending = True

    def run(self) -> bool:
        """The loop; returns whether all went well."""
        commands = 0
        try:
            while not (self._ending or self._commands.end_requested or self._link.closed or self._writer.failed):
                busy = self._runner.turn(commands)
                self._reporter.report()
                commands = self._commands.take(self._link.poll(0.0 if busy else TICK))
                self._commands.settle()
                if self._commands.changed:
                    self._commands.changed = False
                    self._reporter.report(changed=True)
                self._commands.send_replies()
        except HybridSchedulerError as error:
            self._notifier.log("error", f"the race cannot go on: {error}")
            self._runner.give_up()
            return False
        finally:
            self._close()
        return not self._writer.failed

    def _close(self) -> None:
        try:
            self._runner.close()
            self._commands.settle()
            self._commands.send_replies()
        finally:
            self._writer.close()
            self._link.close()


def main(connection: socket.socket) -> NoReturn:
    """Run the engine until it is told to end or the web half is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the whole group; the web half says when to end
    link = EngineLink(connection)
    settings, start = _read_start(link)
    engine = Engine(link, settings, start)
    signal.signal(signal.SIGTERM, lambda *_: engine.end())
    well = engine.run()
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread of a driver that waits for a dead database must not keep the process.
    os._exit(0 if well else 1)


def _read_start(link: EngineLink) -> tuple[ServiceSettings, LiveStart]:
    while not link.closed:
        for message in link.poll(1.0):
            if message.kind == BEGIN:
                settings, start = pickle.loads(message.body)  # from our own parent, over a private socket
                return ServiceSettings.model_construct(**settings), start
    sys.exit(0)
