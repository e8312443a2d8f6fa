"""A scheduler's compiled dispatch, asked by a real node itself: as `CompiledDispatcher.dispatch`, without a view."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.cluster.queues import illegal
from hybrid_scheduler.cluster.state import ILLEGAL, ILLEGAL_REASONS
from hybrid_scheduler.hardware.nodes.real_room import RoomLists
from hybrid_scheduler.hardware.nodes.real_task import RealTask
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.errors import IllegalDecisionError
from hybrid_scheduler.model.kernel import CHOSEN
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.view import NO_FREE
from hybrid_scheduler.schedulers.base import CompiledDispatcher, Scheduler


class KernelDispatch:
    """Asks the kernel of one scheduler about one room.

    Args:
        scheduler: A `CompiledDispatcher`.
        room: Who waits.
        devices: The device table.
        facts: The public facts.
        generator: Draws samples.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        room: RoomLists,
        devices: FloatArray,
        facts: FloatArray,
        generator: np.random.Generator,
    ) -> None:
        self._scheduler, self._room = scheduler, room
        self._devices, self._facts, self._generator = devices, facts, generator
        self._ranked = scheduler.shown_ranked if scheduler.ranks_tasks else 0
        self._kernel = scheduler.active_kernel()

    @staticmethod
    def serves(scheduler: Scheduler) -> bool:
        """Whether a scheduler is one to be asked so."""
        return isinstance(scheduler, CompiledDispatcher) and scheduler.active_kernel() is not None

    def choose(self, number: int, now: float) -> tuple[RealTask, Decision] | None:
        """Who starts, and where; None for nobody. Device table and facts are up to date.

        Raises:
            IllegalDecisionError: It cannot be carried out.
        """
        scheduler, room = self._scheduler, self._room
        waiting = room.shortest(scheduler.shown_shortest)
        others = room.oldest(scheduler.shown_oldest) + room.sample(scheduler.shown_sampled, self._generator)
        if self._ranked and room.ranked:
            others += room.highest_ranked(self._ranked)
        waiting = list(dict.fromkeys(waiting + others))
        table, times = room.shown(waiting)
        out = np.zeros((3, 3))
        assert self._kernel is not None
        parts = self._kernel(
            number,
            now,
            table,
            times,
            self._devices,
            NO_FREE,
            self._facts,
            scheduler.kernel_state(),
            out,
        )
        if not parts:
            return None
        chosen = waiting[int(out[CHOSEN, 0])]
        decision = Decision(tuple(Part(int(d), share, expected) for d, share, expected in out[:parts].tolist()))
        if reason := int(illegal(self._devices, out, parts)):
            raise IllegalDecisionError(
                f"the decision for task {chosen.task.task_id} ({decision}) is illegal: "
                f"{ILLEGAL_REASONS[reason - ILLEGAL]}"
            )
        return chosen, decision
