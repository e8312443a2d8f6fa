"""Work that does nothing, in a module of its own: what a script defines itself travels by value, which is slow."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_scheduler.hardware.nodes.lanes import Place, WholeWork, WorkResult


@dataclass(frozen=True)
class Nothing(WholeWork):
    """Work that does nothing."""

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        return WorkResult()
