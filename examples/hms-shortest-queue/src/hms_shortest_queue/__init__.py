"""A third party's scheduler: join the shortest queue, and prefer a GPU when it pays."""

from __future__ import annotations

from hybrid_scheduler.model import ClusterView, Decision, Task
from hybrid_scheduler.schedulers.base import Scheduler


class ShortestQueue(Scheduler):
    """Joins the shortest queue; among equally long ones, a GPU for tasks that gain from one.

    Args:
        threshold: Compute intensity from which a task gains from a GPU.
    """

    def __init__(self, threshold: float = 0.3) -> None:
        self.threshold = threshold

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Whole tasks only: the device with the fewest parts waiting and running."""
        cpus, gpus = view.cpus(), view.gpus()
        preferred = gpus + cpus if task.compute_intensity >= self.threshold else cpus + gpus
        return Decision.whole(min(preferred, key=lambda row: view.queued[row]))
