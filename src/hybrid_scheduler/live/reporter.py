"""Sends the live messages at a steady rate, and the engine's status."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

from hybrid_scheduler.live.link import FRAME, STATUS, EngineLink
from hybrid_scheduler.live.notifier import Notifier
from hybrid_scheduler.live.runner import Runner
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.schedulers.colours import colour_of

STATUS_EVERY = 0.5


class Reporter:
    """Sends status and live messages when they are due."""

    def __init__(self, link: EngineLink, runner: Runner, notifier: Notifier, update_hz: float) -> None:
        self._link, self._runner, self._notifier, self._hz = link, runner, notifier, update_hz
        self._seq = 0
        self._due = self._told = 0.0
        self._last_state = ""
        self._version = version("hybrid-ml-scheduler")

    def report(self, *, changed: bool = False) -> None:
        """Send what is due; both at once when the state has changed."""
        now, state = time.monotonic(), self._runner.state
        changed = changed or state != self._last_state
        self._last_state = state
        session, running = self._runner.session, state == "running"
        if changed or (running and now >= self._due):
            # From the last due time, not from now: the loop looks only every few hundredths of a second.
            period = 1.0 / self._hz
            self._due = self._due + period if now < self._due + period else now + period
            if session is not None:
                session.sample()
                if running:
                    for line in session.decisions.lines():
                        self._notifier.decision(line)
            self._link.send(FRAME, self._update(session, state))
        if changed or now - self._told >= STATUS_EVERY:
            self._told = now
            self._link.send(STATUS, self._status(session, state))

    def _update(self, session: Session | None, state: str) -> dict[str, Any]:
        """As in `SimulationUpdate`."""
        self._seq += 1
        update: dict[str, Any] = {
            "type": "simulation_update",
            "seq": self._seq,
            "state": state,
            "run_id": None,
            **self._progress(session, state),
            "settings": self._runner.plan.document(),
            "task": None,
            "latest_results": {},
            "comparison": [],
            "lower_bound": dict.fromkeys(("avg_time", "avg_response", "avg_energy", "avg_cost")),
            "utilization": {},
            "learning": [],
        }
        if session is not None:
            task, results = session.latest()
            update |= {
                "run_id": session.run.id,
                "task": task,
                "latest_results": results,
                "comparison": session.comparison(),
                "lower_bound": session.figures.bounds.document(),
                "utilization": session.utilization(),
                "learning": session.learning(),
            }
        return update

    def _status(self, session: Session | None, state: str) -> dict[str, Any]:
        """As in `Status`, without what belongs to the web half."""
        writer, wanted = self._runner.writer, self._runner.wanted
        run = None
        if session is not None:
            named = session.run
            run = {"id": named.id, "seed": named.seed, "first_task_id": named.first_task_id, "started": named.started}
        return {
            "state": state,
            "is_running": wanted == "running" and state != "failed",
            "is_paused": wanted == "paused",
            "owner": writer.owned,
            **self._progress(session, state),
            "settings": self._runner.plan.document(),
            "run": run,
            "schedulers": [] if session is None else _racers(session),
            "models": [] if session is None else session.learning(),
            "totals": self._runner.totals.document(),
            "store": {
                "kind": writer.backend,
                "waiting_tasks": writer.waiting,
                "lag_seconds": writer.lag_seconds,
                "available": writer.available,
                "stored_tasks": writer.stored,
                "problem": writer.problem,
                "clearing": None if self._runner.clearing is None else self._runner.clearing.progress(),
            },
            "message": self._message(),
            "version": self._version,
        }

    def _progress(self, session: Session | None, state: str) -> dict[str, Any]:
        pace = 0.0 if session is None or state != "running" else session.tasks_per_second()
        return {
            "simulated_time": 0.0 if session is None else session.race.now,
            "turn": None if session is None else session.race.turn,
            "tasks_processed": 0 if session is None else session.figures.finished,
            "rates": {"arrival_rate": self._runner.plan.rate, "tasks_per_second": pace},
        }

    def _message(self) -> str:
        writer = self._runner.writer
        if writer.failed:
            return writer.failed
        if problem := writer.problem:
            return f"{problem[0].upper()}{problem[1:]}; the engine waits and loses nothing."
        if writer.slow:
            return "The store does not keep up; the engine waits and loses nothing."
        return self._runner.message


def _racers(session: Session) -> list[dict[str, Any]]:
    """As in `RacerInfo`."""
    utilization = session.utilization()
    return [
        {
            "name": entry["name"],
            "colour": colour_of(entry["name"]),
            "tasks": entry["tasks"],
            "decisions": session.race.contestants[entry["name"]].node.decisions,
            "gap": entry["gap"],
            "utilization": {
                device: found["utilization"]
                for device, found in utilization.get(entry["name"], {}).items()
                if isinstance(found, dict)
            },
            **{key: entry[key] for key in ("unfinished", "waiting", "overloaded", "state", "reason", "given_up")},
        }
        for entry in session.comparison()
    ]
