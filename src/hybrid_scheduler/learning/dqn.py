"""The learning half of the agent: a dueling double deep Q-network and a time head, trained with PyTorch.

The value of an action is what it costs at once, as far as the agent knows, plus what the network has learned about
everything that follows::

    Q(s, a) = N(s, a) - cost(s, a)        cost = (1 - w) response / mean response + w energy / mean energy

`cost` comes from the backlogs the agent sees and from the times its second head has learned, so an untrained network
is the myopic policy on learned times, and the network only has to learn the price of the queue that an action leaves to
the tasks to come. Deep Q-learning: Mnih et al., Nature 518 (2015); double: van Hasselt, Guez, Silver, AAAI 2016;
dueling: Wang et al., ICML 2016.

The weights live twice: as PyTorch tensors that learn, and in the flat memory compiled code acts on (`learning.acting`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.learning.memory import (
    ENERGY_WEIGHT,
    TASK_FEATURES,
    TIME_WEIGHT,
    Layout,
)
from hybrid_scheduler.learning.replay import Replay
from hybrid_scheduler.learning.threads import one_thread
from hybrid_scheduler.model.task import FloatArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor

CAPACITY = 50_000
BATCH = 64
TARGET_EVERY = 50
GRADIENT_NORM = 10.0
HUBER = 10.0
"""Errors beyond so many mean costs count linearly: one huge task must not shake the network."""


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
        self.learning_rate = learning_rate
        self.rng = np.random.default_rng(seed)
        generator = torch.Generator().manual_seed(seed)
        self.time_weights = [_initial(s, generator) for s in layout.time_shapes]
        self.value_weights = [_initial(s, generator) for s in layout.value_shapes]
        # Both start silent: no device differs from another, and nothing is known beyond the immediate cost.
        for silent in (self.time_weights[0], self.time_weights[5], *self.value_weights[4:]):
            silent.zero_()
        for weight in (*self.time_weights, *self.value_weights):
            weight.requires_grad_(True)
        self.target = [w.detach().clone() for w in self.value_weights]
        self.optimiser = torch.optim.Adam([*self.time_weights, *self.value_weights], lr=learning_rate, fused=True)
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
        _, time_views, value_views = self.layout.pieces(self.memory)
        for view, weight in zip((*time_views, *value_views), (*self.time_weights, *self.value_weights), strict=True):
            np.copyto(view, weight.detach().numpy())

    def learn(self, recent: int = 0) -> None:
        """One gradient step on both heads; `recent` outcomes get half of the attention."""
        if len(self.durations) > 0:
            with one_thread():
                self._learn(recent)

    def _learn(self, recent: int) -> None:
        import torch

        loss = self._time_loss(self.durations.sample(self.rng, BATCH, recent))
        if len(self.transitions) >= BATCH:
            loss = loss + self._value_loss(self.transitions.sample(self.rng, BATCH))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_([*self.time_weights, *self.value_weights], GRADIENT_NORM)
        self.optimiser.step()
        self.loss = float(loss.detach())
        self.updates += 1
        if self.updates % TARGET_EVERY == 0:
            with torch.no_grad():
                for delayed, weight in zip(self.target, self.value_weights, strict=True):
                    delayed.copy_(weight)
        self.export()

    def learn_times(self, steps: int, recent: int) -> None:
        """Learn hard from the newest outcomes: gradient steps on the time head alone."""
        with one_thread():
            for _ in range(steps):
                loss = self._time_loss(self.durations.sample(self.rng, BATCH, recent))
                self.optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimiser.step()
        self.export()

    def set_learning_rate(self, rate: float) -> None:
        """Change the optimiser's step size."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def state(self, replay: bool) -> dict[str, Any]:
        """Everything needed to go on learning; without `replay`, what is needed to go on acting."""
        contents: dict[str, Any] = {
            "time_weights": [w.detach().clone() for w in self.time_weights],
            "value_weights": [w.detach().clone() for w in self.value_weights],
            "updates": self.updates,
        }
        if replay:
            contents["target"] = [w.clone() for w in self.target]
            contents["optimiser"] = self.optimiser.state_dict()
            contents["transitions"] = self.transitions.state()
            contents["durations"] = self.durations.state()
            contents["rng"] = self.rng.bit_generator.state
        return contents

    def restore(self, contents: dict[str, Any], *, values: bool = True) -> None:
        """Go on from `state`; without `values` only from what it knows of times."""
        import torch

        with torch.no_grad():
            for weight, value in zip(self.time_weights, contents["time_weights"], strict=True):
                weight.copy_(value)
            if values:
                targets = contents.get("target", contents["value_weights"])
                for weight, value in zip(
                    (*self.value_weights, *self.target), (*contents["value_weights"], *targets), strict=True
                ):
                    weight.copy_(value)
        self.updates = contents["updates"]
        if "optimiser" in contents and values:
            self.optimiser.load_state_dict(contents["optimiser"])
            self.transitions.restore(contents["transitions"])
            self.durations.restore(contents["durations"])
            self.rng.bit_generator.state = contents["rng"]
        self.export()

    def _time_loss(self, batch: dict[str, Any]) -> Tensor:
        import torch

        embedding, *layers = self.time_weights
        device = torch.from_numpy(batch["device"].astype(np.int64))
        kind = torch.from_numpy(batch["kind"])[:, None]
        x = torch.cat([torch.from_numpy(batch["features"]), embedding[device], kind], dim=1)
        x = torch.tanh(torch.nn.functional.linear(x, layers[0], layers[1]))
        x = torch.tanh(torch.nn.functional.linear(x, layers[2], layers[3]))
        predicted = torch.nn.functional.linear(x, layers[4], layers[5]).squeeze(1)
        return torch.nn.functional.huber_loss(predicted, torch.from_numpy(batch["log_seconds"]))

    def _value_loss(self, batch: dict[str, Any]) -> Tensor:
        import torch

        w_time, w_energy = np.float32(self.memory[TIME_WEIGHT]), np.float32(self.memory[ENERGY_WEIGHT])
        cost = torch.from_numpy(w_time * batch["responses"] + w_energy * batch["energies"])
        next_cost = torch.from_numpy(w_time * batch["next_responses"] + w_energy * batch["next_energies"])
        reward = torch.from_numpy(-(w_time * batch["response"] + w_energy * batch["energy"]))
        action = torch.from_numpy(batch["action"].astype(np.int64))[:, None]
        after = torch.from_numpy(batch["next_state"])
        with torch.no_grad():
            online = _values(self.value_weights, after) - next_cost
            delayed = _values(self.target, after) - next_cost if self.use_target else online
            future = delayed.gather(1, online.argmax(1, keepdim=True)).squeeze(1)
            wanted = reward + self.gamma * future
        value = (_values(self.value_weights, torch.from_numpy(batch["state"])) - cost).gather(1, action).squeeze(1)
        return torch.nn.functional.huber_loss(value, wanted, delta=HUBER)


def _initial(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """He's initialisation for layers (He et al., ICCV 2015), zeros for biases."""
    import torch

    if len(shape) == 1:
        return torch.zeros(shape)
    spread: float = (2.0 / shape[1]) ** 0.5
    return torch.randn(shape, generator=generator) * spread


def _values(weights: list[Tensor], state: Tensor) -> Tensor:
    """State value plus advantage, the advantages centred."""
    import torch

    x = torch.relu(torch.nn.functional.linear(state, weights[0], weights[1]))
    x = torch.relu(torch.nn.functional.linear(x, weights[2], weights[3]))
    x = torch.nn.functional.linear(x, weights[4], weights[5])
    return x[:, :1] + x[:, 1:] - x[:, 1:].mean(1, keepdim=True)
