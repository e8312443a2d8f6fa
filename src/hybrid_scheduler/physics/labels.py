"""Oracle labels: the same search the oracle does, on an idle node."""

from __future__ import annotations

from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.optimum import idle_optimum
from hybrid_scheduler.physics.settings import Physics


def label_tasks(tasks: TaskBatch, realised: FloatArray, cluster: ClusterSpec, physics: Physics) -> LabelBatch:
    """Whole-task time on every device, best fraction and best time of every task, from its realised times."""
    _, _, fraction, seconds = idle_optimum(realised, tasks.memory_required, cluster.public_table(), physics.facts())
    return LabelBatch(tasks, realised.sum(axis=1), fraction, seconds)
