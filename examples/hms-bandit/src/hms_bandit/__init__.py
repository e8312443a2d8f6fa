"""A third party's learner: a bandit per class of tasks."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from hybrid_scheduler.model import ClusterView, Decision, InvalidInputError, Outcome, Task
from hybrid_scheduler.schedulers.base import RaceLearner

SIZES, INTENSITIES = 6, 4
"""Classes of tasks: powers of four of the size, quarters of the intensity."""
FORMAT, VERSION = "hms-bandit", 1
REMEMBERED = 500
"""Tries after which a mean moves on with the latest ones."""
TRAINING = 4.0
"""Times as much exploration while it is trained."""
PACKAGED = Path(__file__).with_name("default_node.bandit")
PACKAGED_KINDS = ["cpu", "gpu", "gpu", "gpu", "gpu"]


class Bandit(RaceLearner):
    """Learns how long each class of tasks takes on each device, and tries what may be better than it looks.

    Devices are the arms; the one with the lowest confidence bound of its cost is taken, with the backlog in view, and
    one that was never tried comes first. After UCB1 (Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002).

    Args:
        energy_weight: 0 cares for time only, 1 for energy only.
        exploration: How much a device that was seldom tried is given credit.
    """

    objective = ("energy_weight",)
    model_suffix = ".bandit"

    def __init__(self, energy_weight: float = 0.0, exploration: float = 0.1) -> None:
        if not 0.0 <= energy_weight <= 1.0:
            raise InvalidInputError(f"energy_weight is {energy_weight}, but it must be from 0 to 1")
        self.energy_weight = energy_weight
        self.exploration = exploration
        self._training = False
        self._forget(0)

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """The whole task on the device of the least cost."""
        self.check_devices(len(view.names))
        if len(self._tries) == 0:
            self._forget(len(view.names))
        up = view.cpus() + view.gpus()
        fitting = [row for row in up if task.memory_required <= view.memory_mb[row]] or up
        tries, means = self._tries[:, _class_of(task)], self._means[:, _class_of(task)]
        unknown = [row for row in fitting if tries[row] == 0]
        if unknown:
            return Decision.whole(min(unknown, key=lambda row: view.queued[row]))
        credit = self.exploration * (TRAINING if self._training else 1.0)
        bonus = np.minimum(1.0, credit * np.sqrt(math.log(1.0 + tries.sum()) / np.maximum(tries, 1.0)))
        seconds = view.backlog + means * (1.0 - bonus)
        joules = view.watts * means
        cost = (1.0 - self.energy_weight) * seconds / self._second + self.energy_weight * joules / self._joule
        best = min(fitting, key=lambda row: cost[row])
        return Decision.whole(best, float(means[best]))

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Note how long the task took where it ran."""
        if outcome.failed or len(self._tries) == 0:
            return
        row, group, seconds = decision.parts[0].device, _class_of(task), outcome.actual_time
        self._tries[row, group] += 1
        self._means[row, group] += (seconds - self._means[row, group]) / min(self._tries[row, group], REMEMBERED)
        self.updates += 1
        rate = 1.0 / min(self.updates, REMEMBERED)
        self._second += rate * (max(seconds, 1e-9) - self._second)
        self._joule += rate * (max(outcome.energy, 1e-9) - self._joule)

    def begin_training(self, tasks: int) -> None:
        """Explore more."""
        self._training = True

    def end_training(self) -> None:
        """Explore less again."""
        self._training = False

    def figures(self) -> dict[str, float | None]:
        """How much of what could be tried was tried, and the mean seconds of a task."""
        if len(self._tries) == 0:
            return {}
        return {"tried": float((self._tries > 0).mean()), "rows": float(self._tries.sum()), "seconds": self._second}

    def packaged_model(self, view: ClusterView) -> Path | None:
        """The packaged model is for one CPU and four GPUs."""
        return PACKAGED if view.kind.tolist() == PACKAGED_KINDS else None

    def check_devices(self, count: int) -> None:
        """Refuse a node with another number of devices."""
        if len(self._tries) not in (0, count):
            raise InvalidInputError(
                f"this bandit knows {len(self._tries)} devices, but the node has {count}; train one for this node"
            )

    def save_model(self, path: str | Path) -> None:
        """Write JSON, whole or not at all."""
        if len(self._tries) == 0:
            raise InvalidInputError("the bandit has tried nothing yet, so there is nothing to save; let it race first")
        learned = {"tries": self._tries.tolist(), "means": self._means.tolist(), "updates": self.updates}
        about = {"format": FORMAT, "version": VERSION, "second": self._second, "joule": self._joule}
        unfinished = Path(f"{path}.unfinished")
        unfinished.write_text(json.dumps({**about, **learned}), encoding="utf-8")
        unfinished.replace(path)

    def load_model(self, path: str | Path) -> None:
        """Go on from a file."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            if (found["format"], found["version"]) != (FORMAT, VERSION):
                raise ValueError(f"it is a {found['format']} of version {found['version']}")
            tries, means = np.array(found["tries"], dtype=float), np.array(found["means"], dtype=float)
            scales = np.array([found["second"], found["joule"]], dtype=float)
            if tries.shape != means.shape or tries.shape[1:] != (SIZES * INTENSITIES,) or len(tries) == 0:
                raise ValueError(f"its tables have the shapes {tries.shape} and {means.shape}")
            if not (np.isfinite(means).all() and means.min() >= 0 and tries.min() >= 0 and scales.min() > 0):
                raise ValueError("its figures are no times and counts")
            updates = int(found["updates"])
        except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise InvalidInputError(f"{path} is not a readable bandit ({error!r}); train it again") from error
        self._tries, self._means, self.updates = tries, means, updates
        self._second, self._joule = scales.tolist()

    def _forget(self, devices: int) -> None:
        self._tries, self._means = (np.zeros((devices, SIZES * INTENSITIES)) for _ in range(2))
        self._second, self._joule, self.updates = 1.0, 1.0, 0


def _class_of(task: Task) -> int:
    """The number of a task's class."""
    size = min(max(int(math.log(max(task.size, 1.0), 4.0)) - 1, 0), SIZES - 1)
    return size * INTENSITIES + min(int(task.compute_intensity * INTENSITIES), INTENSITIES - 1)
