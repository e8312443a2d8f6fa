"""What the web half of the service needs of the live engine, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class EnginePort(Protocol):
    """The live engine as the web half sees it. All methods run on the event loop and never block it.

    Commands answer with what the API sends (dictionaries in the shapes of `server.schemas`) and raise `EngineError` or
    `InvalidInputError`: `start`, `stop`, `pause`, `resume` → ControlAnswer; `settings(**change)` → LiveSettings;
    `submit(size, compute_intensity, memory_required, dependencies)` → TaskAccepted; `clear` → Cleared;
    `pulse(scheduler)` → PulseHistory; `waiting(scheduler, limit, task_id)` → WaitingRoom; `learn(scheduler)` →
    LearnAnswer.
    """

    restarts: int
    """How often the engine ended by itself and was started again."""

    async def open(self) -> None:
        """Begin; returns at once, the engine comes up in the background."""

    async def close(self) -> None:
        """End gracefully: everything accepted is stored, learners are saved."""

    async def command(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Carry out one command; waits for its answer."""

    def status(self) -> dict[str, Any]:
        """The latest `Status` without `feed`; never waits."""

    def health(self) -> Mapping[str, str]:
        """`status` ("up" or "down"), `kind` and `message` of the engine."""

    def listen(self, listener: Callable[[bytes], None]) -> None:
        """Have every live message (encoded JSON of the live messages of `server.schemas`) handed over as it comes."""
