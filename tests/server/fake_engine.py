"""An engine without a race: keeps state, stores what it is given, says what it is told to. For the web half's tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.schedulers.registry import scheduler_class
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.store import SubmittedTask
from hybrid_scheduler.workloads.presets import find_workload

SCHEDULERS = ("greedy", "oracle")
MESSAGES = {"running": "it runs", "paused": "it is paused", "stopped": "it is stopped"}


class FakeEngine:
    """Implements `EnginePort` in process.

    Attributes:
        state: What it says its state is; tests may set it.
        owner: Whether it says it owns the engine.
        up: What it says of its health.
        commands: Every command it was given.
        delay: Seconds it takes for a command.
        clears: Whether clearing really clears.
    """

    def __init__(self, store_access: StoreAccess) -> None:
        self._store_access = store_access
        self._listeners: list[Callable[[bytes], None]] = []
        self._next = self.run_id = 0
        self.state, self.owner, self.up, self.delay = "stopped", True, True, 0.0
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.opened = self.closed = False
        self.clears, self.restarts = True, 0
        self.settings: dict[str, Any] = {
            "preset": "mixed",
            "trace": None,
            "arrival_rate": 2.0,
            "load": 0.05,
            "speed": 1.0,
            "flat_out": False,
            "schedulers": list(SCHEDULERS),
            "weights": {"time": 0.5, "energy": 0.5, "money": 0.0},
            "energy_weight": 0.5,
            "node": "simulated",
            "devices": ["cpu_0"],
        }

    async def open(self) -> None:
        run = await self._store_access.store.begin_run(
            "live", seed=42, configuration={}, schedulers=SCHEDULERS, reserve=10**6
        )
        self.run_id, self._next = run.id, run.first_task_id
        self.opened, self.state = True, "running"

    async def close(self) -> None:
        # The store must still be there when the engine ends; a ping would have to be answered within two seconds.
        await self._store_access.store.counts()
        self.closed = True

    async def command(self, name: str, **arguments: Any) -> dict[str, Any]:
        self.commands.append((name, arguments))
        await asyncio.sleep(self.delay)
        if self.state == "starting":
            raise EngineError("the engine is starting; try again in a moment")
        return await getattr(self, f"_{name}")(**arguments)  # type: ignore[no-any-return]

    def status(self) -> dict[str, Any]:
        racer = {"colour": "#22c55e", "tasks": 7, "decisions": 8, "unfinished": 1, "waiting": 0, "overloaded": False}
        racer |= {"state": "racing", "reason": "", "given_up": 0, "gap": 0.25, "utilization": {"cpu_0": 0.5}}
        totals = {
            "tasks": 7,
            "failed": 1,
            "response": {"bounds": [0.1, 1.0], "counts": [1, 2, 3], "sum": 12.0},
            "wait_seconds": 4.0,
            "execution_seconds": 8.0,
            "energy_joules": 90.0,
            "cost_dollars": 0.5,
            "decisions": 8,
            "decision_seconds": 0.002,
            "learning_seconds": 0.0,
            "learned": None,
        }
        learned = {"updates": 3, "refits": 1, "refit_checks": 2, "drifts": 1}
        return {
            "state": self.state,
            "is_running": self.state == "running",
            "is_paused": self.state == "paused",
            "owner": self.owner,
            "tasks_processed": 7,
            "simulated_time": 3.5,
            "turn": None,
            "rates": {"arrival_rate": 2.0, "tasks_per_second": 2.0},
            "settings": self.settings,
            "run": {"id": 1, "seed": 42, "first_task_id": 0, "started": datetime(2026, 1, 1, tzinfo=UTC)},
            "schedulers": [{"name": name, **racer} for name in self.settings["schedulers"]],
            "models": [
                {
                    "scheduler_name": "rl_agent",
                    "origin": "packaged",
                    "version": None,
                    "updates": 3,
                    "refits": 0,
                    "refit_checks": 2,
                    "drifts": 0,
                    "figures": {"loss": 0.5, "r2": None},
                }
            ],
            "totals": [
                *({"name": name, **totals} for name in self.settings["schedulers"]),
                {"name": "rl_agent", **totals, "learned": learned},
            ],
            "store": {
                "kind": "sqlite",
                "waiting_tasks": 0,
                "lag_seconds": 0.0,
                "available": True,
                "stored_tasks": 7,
                "problem": "",
                "clearing": None,
            },
            "message": "",
            "version": "0",
        }

    def health(self) -> Mapping[str, str]:
        message = "" if self.up else "it is being restarted"
        return {"status": "up" if self.up else "down", "kind": "process", "message": message}

    def listen(self, listener: Callable[[bytes], None]) -> None:
        self._listeners.append(listener)

    def emit(self, message: Mapping[str, Any]) -> None:
        """Send one live message; must run on the event loop."""
        for listener in self._listeners:
            listener(orjson.dumps(message))

    # --- commands

    async def _control(self, state: str) -> dict[str, Any]:
        self.state = state
        return {
            "state": state,
            "is_running": state == "running",
            "is_paused": state == "paused",
            "message": MESSAGES[state],
        }

    async def _start(self) -> dict[str, Any]:
        return await self._control("running")

    async def _stop(self) -> dict[str, Any]:
        return await self._control("stopped")

    async def _pause(self) -> dict[str, Any]:
        return await self._control("paused" if self.state == "running" else self.state)

    async def _resume(self) -> dict[str, Any]:
        return await self._control("running" if self.state == "paused" else self.state)

    async def _settings(self, **change: Any) -> dict[str, Any]:
        if "preset" in change:
            find_workload(change["preset"])
        for name in change.get("schedulers", ()):
            scheduler_class(name)
        if "trace" in change:
            raise EngineError(f"there is no trace {change['trace']!r}", code="unknown_trace", status=404)
        self.settings |= change
        return self.settings

    async def _submit(self, dependencies: list[int], kind: str | None, **features: Any) -> dict[str, Any]:
        number = self._next
        self._next += 1
        task = SubmittedTask(
            number, self.run_id, **features, dependencies=tuple(dependencies), submitted=datetime.now(UTC)
        )
        await self._store_access.store.submit([task])
        decision: dict[str, Any] = {
            "gpu_fraction": 0.0,
            "gpu_id": None,
            "reason": "it is idle",
            "predicted": {"cpu_0": 1.0},
        }
        waits = {"waiting": False, "expected_start": None}
        return {
            "task": {"task_id": number, "run_id": self.run_id, **features, "arrival_time": 3.5, "dependencies": []},
            "decisions": [
                {"scheduler_name": name, **decision, **waits, "considered": [], "projected": None, "regret": None}
                for name in self.settings["schedulers"]
            ],
        }

    async def _pulse(self, scheduler: str) -> dict[str, Any]:
        if scheduler not in self.settings["schedulers"]:
            raise EngineError(f"{scheduler!r} is not in the race", code="not_racing", status=404)
        points = [{"time": 10.0, "utilization": [0.5, 0.25]}]
        return {"run_id": self.run_id, "now": 11.0, "devices": ["cpu_0", "gpu_0"], "points": points}

    async def _waiting(self, scheduler: str, limit: int, task_id: int | None) -> dict[str, Any]:
        if scheduler not in self.settings["schedulers"]:
            raise EngineError(f"{scheduler!r} is not in the race", code="not_racing", status=404)
        tasks = [
            {
                "task_id": number,
                "kind": "synthetic",
                "size": 960.0,
                "compute_intensity": 0.5,
                "memory_required": 81.0,
                "ready_time": 10.0,
                "waited": 2.5,
                "overtaken": 3,
                "expected_start": 14.0 if number == 4 else None,
                "reason": "It waits because gpu_0 is busy.",
            }
            for number in (4, 7, 9)
            if task_id in (None, number)
        ]
        return {"run_id": self.run_id, "simulated_time": 12.5, "waiting": 3, "tasks": tasks[:limit]}

    async def _learn(self, scheduler: str) -> dict[str, Any]:
        if scheduler not in self.settings["schedulers"]:
            raise EngineError(f"{scheduler!r} is not in the race", code="not_racing", status=404)
        message = f"{scheduler} was trained on the latest 5 labels in the store"
        return {"scheduler_name": scheduler, "labels": 5, "message": message}

    async def _clear(self) -> dict[str, Any]:
        if not self.clears:
            return {"tasks": 0, "results": 0, "training": 0, "runs": 0, "done": True}
        return {**(await self._store_access.store.clear())._asdict(), "done": True}
