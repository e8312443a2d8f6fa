"""A race that judges every schedule it produces."""

from __future__ import annotations

from collections.abc import Callable

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.view import FIXED, SHARED
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.testing.schedule import PlainDevice, Rules, assert_valid_schedule


class CheckedRace(Race):
    """A `Race` that hands every schedule to the independent judge of `testing.schedule`; arguments as there."""

    @property
    def rules(self) -> Rules:
        """The node of this race in plain words."""
        prices = self.physics.busy_price(self.cluster)
        return Rules(
            tuple(
                PlainDevice(d.name, d.kind, d.node, d.memory_mb, d.watts, float(price))
                for d, price in zip(self.cluster.devices, prices, strict=True)
            ),
            self.physics.split,
            self.physics.coexecution_penalty,
            self.physics.memory_policy,
            tuple((d.time, d.device, d.speed) for d in self.cluster.disturbances),
            self.isolated,
        )

    def seconds(self, task_id: int, device: str, share: float) -> float:
        """The realised seconds of a share of a task, alone on a device at normal speed."""
        times = self._realised[self.tasks.position_of(task_id), :, self.cluster.names.index(device)]
        return float(times[FIXED] + share * times[SHARED])

    def run(
        self,
        scheduler: Scheduler,
        *,
        progress: Callable[[int], None] | None = None,
        compiled: bool = True,
    ) -> OutcomeBatch:
        """Take every task through one scheduler and judge the schedule.

        Raises:
            AssertionError: The schedule breaks a rule.
        """
        outcomes = super().run(scheduler, progress=progress, compiled=compiled)
        assert_valid_schedule(self.tasks, outcomes, self.rules, self.seconds)
        return outcomes
