"""What the live engine answers when it cannot do what it is asked."""

from __future__ import annotations

from hybrid_scheduler.model.errors import HybridSchedulerError


class EngineError(HybridSchedulerError):
    """The engine refused a command, or cannot be reached.

    Attributes:
        code: The word for programs in the API's error.
        status: The HTTP status that fits.
    """

    def __init__(self, message: str, *, code: str = "engine_unavailable", status: int = 503) -> None:
        super().__init__(message)
        self.code, self.status = code, status
