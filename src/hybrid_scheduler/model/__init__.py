"""The shapes everything hangs on: tasks, decisions, outcomes, the view of the node, errors."""

from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.errors import (
    HybridSchedulerError,
    IllegalDecisionError,
    InvalidInputError,
    MissingExtraError,
    SchedulerError,
    UnknownNameError,
)
from hybrid_scheduler.model.label import Label, LabelBatch
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch, PartRecord
from hybrid_scheduler.model.task import FloatArray, IntArray, Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView

__all__ = [
    "ClusterView",
    "Decision",
    "FloatArray",
    "HybridSchedulerError",
    "IllegalDecisionError",
    "IntArray",
    "InvalidInputError",
    "Label",
    "LabelBatch",
    "MissingExtraError",
    "Outcome",
    "OutcomeBatch",
    "Part",
    "PartRecord",
    "SchedulerError",
    "Task",
    "TaskBatch",
    "UnknownNameError",
]
