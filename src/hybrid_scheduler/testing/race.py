"""A race that judges every schedule it produces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.testing.schedule import PlainDevice, Rules, assert_valid_schedule


class CheckedRace(Race):
    """A `Race` that hands every schedule to the independent judge of `testing.schedule`; arguments as there."""

    @property
    def rules(self) -> Rules:
        """The node of this race in plain words."""
        prices = self.world.physics.busy_price(self.world.cluster)
        return Rules(
            tuple(
                PlainDevice(d.name, d.kind, d.node, d.memory_mb, d.watts, float(price), d.bandwidth)
                for d, price in zip(self.world.cluster.devices, prices, strict=True)
            ),
            self.world.physics.split,
            self.world.physics.coexecution_penalty,
            self.world.physics.memory_policy,
            tuple((d.time, d.device, d.speed) for d in self.world.cluster.disturbances),
            self.isolated,
            network=self.world.cluster.network_bandwidth,
            moves_memory=self.world.physics.cost.moves_memory,
        )

    def seconds(self, task_id: int, device: str, share: float, resident: float = 0.0) -> float:
        """The realised seconds of a share of a task, alone on a device at normal speed.

        So many megabytes of what the whole task moves there are there already; noise stretches the way as it does the
        rest.
        """
        row, column = self.tasks.position_of(task_id), self.world.cluster.names.index(device)
        times, nominal = self.timed.realised[row, :, column], self.timed.nominal[row, :, column]
        spec, saved = self.world.cluster.devices[column], 0.0
        if spec.kind == "gpu" and self.world.physics.cost.moves_memory and nominal[SHARED] > 0.0:
            saved = resident / spec.bandwidth * float(times[SHARED] / nominal[SHARED])
        return float(times[FIXED] + share * max(0.0, times[SHARED] - saved))

    def run(self, scheduler: Scheduler, **options: Any) -> OutcomeBatch:
        """Take every task through one scheduler and judge the schedule; options as there.

        Raises:
            AssertionError: The schedule breaks a rule.
        """
        outcomes = super().run(scheduler, **options)
        assert_valid_schedule(self.tasks, outcomes, replace(self.rules, waits=scheduler.dispatches), self.seconds)
        return outcomes
