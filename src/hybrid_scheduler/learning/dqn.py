"""The learning half of the agent: a dueling double deep Q-network and a time head, trained with PyTorch.

The value of an action is what it costs at once, as far as the agent knows, plus what the network has learned about
everything that follows::

    Q(s, a) = N(s, a) - cost(s, a)        cost = (1 - w) response / mean response + w energy / mean energy

`cost` comes from the backlogs the agent sees and from the times its second head has learned, so an untrained network
is the myopic policy on learned times, and the network only has to learn the price of the queue that an action leaves to
the tasks to come (`learning.value_network`, `learning.time_head`).

The weights live twice: as PyTorch tensors that learn, and in the flat memory compiled code acts on (`learning.acting`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.learning.adam import Adam
from hybrid_scheduler.learning.memory import ENERGY_WEIGHT, HEADER, TASK_FEATURES, TIME_WEIGHT, Layout
from hybrid_scheduler.learning.replay import Replay
from hybrid_scheduler.learning.threads import one_thread
from hybrid_scheduler.learning.time_head import TimeHead
from hybrid_scheduler.learning.value_network import ValueNetwork
from hybrid_scheduler.model.task import FloatArray

CAPACITY = 50_000
BATCH = 64
TARGET_EVERY = 50
GRADIENT_NORM = 10.0


class DeepQ:
    """Owns networks, replays and optimiser of one agent.

    Args:
        layout: Sizes.
        memory: The flat memory that compiled code acts on; kept up to date here.
        seed: Of the weights and of the sampling.
        gamma: Discount per decision.
        learning_rate: Of Adam.
        use_target: Whether targets come from a delayed copy of the network.
    """

    def __init__(
        self, layout: Layout, memory: FloatArray, *, seed: int, gamma: float, learning_rate: float, use_target: bool
    ) -> None:
        import torch

        self.layout, self.memory = layout, memory
        self.gamma, self.use_target = gamma, use_target
        self._rate = learning_rate
        self.rng = np.random.default_rng(seed)
        generator = torch.Generator().manual_seed(seed)
        # Both start silent: no device differs from another, and nothing is known beyond the immediate cost.
        self.times = TimeHead(layout, BATCH, generator)
        self.values = ValueNetwork(layout, BATCH, generator)
        first = HEADER + layout.devices
        second = first + len(self.times.weights.flat)
        self._adams = [
            Adam(self.times.weights, memory, first),
            Adam(self.values.weights, memory, second),
        ]
        n = layout.actions
        self.transitions = Replay(
            CAPACITY,
            {
                "state": layout.inputs,
                "responses": n,
                "energies": n,
                "action": 0,
                "response": 0,
                "energy": 0,
                "next_state": layout.inputs,
                "next_responses": n,
                "next_energies": n,
            },
        )
        self.durations = Replay(CAPACITY, {"features": TASK_FEATURES, "device": 0, "kind": 0, "log_seconds": 0})
        self.updates = 0
        self.loss = float("nan")
        self.export()

    def export(self) -> None:
        """Bring the flat memory up to date with the tensors."""
        for adam in self._adams:
            adam.export()

    def learn(self, recent: int = 0) -> None:
        """One gradient step on both heads; `recent` outcomes get half of the attention."""
        if len(self.durations) > 0:
            with one_thread():
                self._learn(recent)

    def _learn(self, recent: int) -> None:
        self.loss = self.times.learn(self.durations.sample(self.rng, BATCH, recent))
        both = len(self.transitions) >= BATCH
        if both:
            weigh = float(self.memory[TIME_WEIGHT]), float(self.memory[ENERGY_WEIGHT])
            drawn = self.transitions.sample(self.rng, BATCH)
            self.loss += self.values.learn(drawn, weigh, self.gamma, delayed=self.use_target)
        self._step(values=both, clip=True)
        self.updates += 1
        if self.updates % TARGET_EVERY == 0:
            self.values.refresh_target()

    def learn_times(self, steps: int, recent: int) -> None:
        """Learn hard from the newest outcomes: gradient steps on the time head alone."""
        with one_thread():
            for _ in range(steps):
                self.times.learn(self.durations.sample(self.rng, BATCH, recent))
                self._step(values=False, clip=False)

    def _step(self, *, values: bool, clip: bool) -> None:
        """Go along the gradients; without `values` the value network stays as it is."""
        adams = self._adams[: 1 + values]
        scale = 1.0
        if clip:
            norm = sum(adam.squared_norm() for adam in adams) ** 0.5
            scale = min(1.0, GRADIENT_NORM / max(norm, 1e-12))
        for adam in adams:
            adam.step(self._rate, scale)

    def set_learning_rate(self, rate: float) -> None:
        """Change the optimiser's step size."""
        self._rate = rate

    def state(self, replay: bool) -> dict[str, Any]:
        """Everything needed to go on learning; without `replay`, what is needed to go on acting."""
        contents: dict[str, Any] = {
            "time_weights": self.times.weights.state(),
            "value_weights": self.values.weights.state(),
            "updates": self.updates,
        }
        if replay:
            contents["target"] = self.values.target.state()
            contents["optimiser"] = [adam.state() for adam in self._adams]
            contents["transitions"] = self.transitions.state()
            contents["durations"] = self.durations.state()
            contents["rng"] = self.rng.bit_generator.state
        return contents

    def restore(self, contents: dict[str, Any], *, values: bool = True) -> None:
        """Go on from `state`; without `values` only from what it knows of times."""
        self.times.weights.restore(contents["time_weights"])
        if values:
            self.values.weights.restore(contents["value_weights"])
            self.values.target.restore(contents.get("target", contents["value_weights"]))
        self.updates = contents["updates"]
        if "optimiser" in contents and values:
            for adam, state in zip(self._adams, contents["optimiser"], strict=True):
                adam.restore(state)
            self.transitions.restore(contents["transitions"])
            self.durations.restore(contents["durations"])
            self.rng.bit_generator.state = contents["rng"]
        self.export()
