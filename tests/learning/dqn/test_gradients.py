"""The gradients that are written out against PyTorch's automatic ones, and our Adam against PyTorch's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from hybrid_scheduler.learning.adam import Adam, Weights
from hybrid_scheduler.learning.dqn.network import HUBER, TimeHead, ValueNetwork
from hybrid_scheduler.learning.dqn.policy import Layout

LAYOUT = Layout(cpus=2, gpus=3, fractions=2, hidden=24)
BATCH = 32


def filled(weights: Weights, seed: int) -> Weights:
    weights.flat.copy_(0.4 * torch.randn(weights.flat.shape, generator=torch.Generator().manual_seed(seed)))
    return weights


def as_leaves(weights: Weights) -> list[torch.Tensor]:
    return [piece.clone().requires_grad_() for piece in weights.pieces]


def dueling(pieces: list[torch.Tensor], state: torch.Tensor) -> torch.Tensor:
    w1, b1, w2, b2, w3, b3 = pieces
    out = torch.relu(torch.relu(state @ w1.T + b1) @ w2.T + b2) @ w3.T + b3
    return out[:, :1] + out[:, 1:] - out[:, 1:].mean(1, keepdim=True)


def transitions(rng: np.random.Generator) -> dict[str, Any]:
    n = LAYOUT.actions
    widths = {"state": LAYOUT.inputs, "next_state": LAYOUT.inputs}
    widths |= dict.fromkeys(("responses", "energies", "next_responses", "next_energies", "next_monies"), n)
    batch = {name: rng.random((BATCH, width)).astype(np.float32) for name, width in widths.items()}
    batch["action"] = rng.integers(0, n, BATCH).astype(np.float32)
    # Some rewards are huge, so that both branches of the loss are taken.
    batch["response"] = (rng.random(BATCH) * np.where(np.arange(BATCH) % 5, 1.0, 60.0)).astype(np.float32)
    batch["energy"] = rng.random(BATCH).astype(np.float32)
    return batch


@pytest.mark.parametrize("delayed", [True, False])
def test_value_network(delayed: bool) -> None:
    network = ValueNetwork(LAYOUT, BATCH, torch.Generator().manual_seed(1))
    filled(network.weights, 2)
    filled(network.target, 3)
    batch, gamma = transitions(np.random.default_rng(4)), 0.9
    second, joule, dollar = 0.7, 0.3, 0.4
    leaves = as_leaves(network.weights)
    tensors = {name: torch.from_numpy(column) for name, column in batch.items()}
    next_cost = second * tensors["next_responses"] + joule * tensors["next_energies"]
    cost = second * tensors["responses"] + joule * tensors["energies"]
    with torch.no_grad():
        online = dueling(leaves, tensors["next_state"]) - next_cost
        judged = dueling(network.target.pieces, tensors["next_state"]) - next_cost if delayed else online
        # Money decides which action comes next, but is no part of what is learned.
        best = (online - dollar * tensors["next_monies"]).argmax(1, keepdim=True)
        assert not torch.equal(best, online.argmax(1, keepdim=True))
        future = judged.gather(1, best).squeeze(1)
        wanted = -(second * tensors["response"] + joule * tensors["energy"]) + gamma * future
    action = tensors["action"].long()[:, None]
    value = (dueling(leaves, tensors["state"]) - cost).gather(1, action).squeeze(1)
    loss = torch.nn.functional.huber_loss(value, wanted, delta=HUBER)
    assert float((value - wanted).detach().abs().max()) > HUBER
    loss.backward()  # type: ignore[no-untyped-call]
    assert network.learn(batch, (second, joule, dollar), gamma, delayed=delayed) == pytest.approx(loss.item(), rel=1e-5)
    for ours, leaf in zip(network.weights.gradients, leaves, strict=True):
        torch.testing.assert_close(ours, leaf.grad, rtol=1e-4, atol=1e-6)


def test_time_head() -> None:
    head = TimeHead(LAYOUT, BATCH, torch.Generator().manual_seed(1))
    filled(head.weights, 2)
    rng = np.random.default_rng(5)
    batch = {
        "features": rng.normal(size=(BATCH, 3)).astype(np.float32),
        "device": rng.integers(0, LAYOUT.devices, BATCH).astype(np.float32),
        "kind": rng.integers(0, 2, BATCH).astype(np.float32),
        "log_seconds": (3.0 * rng.normal(size=BATCH)).astype(np.float32),
    }
    leaves = as_leaves(head.weights)
    embedding, w1, b1, w2, b2, w3, b3 = leaves
    device = torch.from_numpy(batch["device"]).long()
    kind = torch.from_numpy(batch["kind"])[:, None]
    x = torch.cat([torch.from_numpy(batch["features"]), embedding[device], kind], dim=1)
    predicted = (torch.tanh(torch.tanh(x @ w1.T + b1) @ w2.T + b2) @ w3.T + b3).squeeze(1)
    loss = torch.nn.functional.huber_loss(predicted, torch.from_numpy(batch["log_seconds"]))
    loss.backward()  # type: ignore[no-untyped-call]
    assert head.learn(batch) == pytest.approx(loss.item(), rel=1e-5)
    for ours, leaf in zip(head.weights.gradients, leaves, strict=True):
        torch.testing.assert_close(ours, leaf.grad, rtol=1e-4, atol=1e-6)


def test_adam() -> None:
    ours, acted_on = filled(Weights(((4, 3), (4,)), None), 1), np.zeros(20)
    theirs = ours.flat.clone().requires_grad_()
    adam, reference = Adam(ours, acted_on, 4), torch.optim.Adam([theirs], lr=3e-3)
    generator = torch.Generator().manual_seed(2)
    for _ in range(20):
        ours.gradient.copy_(torch.randn(16, generator=generator))
        theirs.grad = 0.5 * ours.gradient
        assert adam.squared_norm() == pytest.approx(float(ours.gradient.norm()) ** 2, rel=1e-5)
        adam.step(3e-3, 0.5)
        reference.step()
    torch.testing.assert_close(ours.flat, theirs.detach(), rtol=1e-5, atol=1e-6)
    assert acted_on[4:] == pytest.approx(ours.flat.numpy())


def test_a_copy_is_independent_and_whole() -> None:
    """Views of a pickled copy look into the copy, and all of its parts still share one set of weights."""
    adam = Adam(filled(Weights(((2, 3),), None), 1), np.zeros(6), 0)
    copy = pickle.loads(pickle.dumps(adam))
    copy.weights.gradients[0].fill_(1.0)
    before = adam.weights.flat.clone()
    copy.step(0.1)
    assert torch.equal(adam.weights.flat, before)
    assert not torch.equal(copy.weights.flat, before)
    assert torch.equal(copy.weights.pieces[0].flatten(), copy.weights.flat)
