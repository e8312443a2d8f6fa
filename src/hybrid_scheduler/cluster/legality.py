"""Whether a decision can be carried out, for nodes that are not simulated: the simulator's own rules and words."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.cluster.queues import illegal
from hybrid_scheduler.cluster.state import ILLEGAL, ILLEGAL_REASONS
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import IllegalDecisionError
from hybrid_scheduler.model.task import FloatArray, Task


def refuse_illegal(task: Task, decision: Decision, devices: FloatArray) -> None:
    """Refuse a decision that names no device, one that is down, or shares that make no whole.

    Raises:
        IllegalDecisionError: Says which rule it breaks.
    """
    count = len(decision.parts) if isinstance(decision, Decision) else 0
    rows = [(part.device, part.share, part.expected) for part in decision.parts[:3]] if count else []
    out = np.array(rows, dtype=np.float64).reshape(-1, 3) if rows else np.zeros((1, 3))
    if reason := int(illegal(devices, out, count)):
        raise IllegalDecisionError(
            f"the decision for task {task.task_id} ({decision}) is illegal: {ILLEGAL_REASONS[reason - ILLEGAL]}"
        )
