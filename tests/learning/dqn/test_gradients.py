"""The gradients that are written out against PyTorch's automatic ones, and our Adam against PyTorch's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from hybrid_scheduler.learning.adam import Adam, Weights
from hybrid_scheduler.learning.agent_layout import COEFFICIENTS, OPTION, TASK_FEATURES, Layout
from hybrid_scheduler.learning.device_times import TimeHead
from hybrid_scheduler.learning.dqn.network import HUBER, ValueNetwork, transition_columns

LAYOUT = Layout(cpus=2, gpus=3, fractions=2, hidden=24)
BATCH = 32


def filled(weights: Weights, seed: int) -> Weights:
    weights.flat.copy_(0.4 * torch.randn(weights.flat.shape, generator=torch.Generator().manual_seed(seed)))
    return weights


def as_leaves(weights: Weights) -> list[torch.Tensor]:
    return [piece.clone().requires_grad_() for piece in weights.pieces]


def packed(batch: dict[str, Any], options: str, legal: str, i: int) -> torch.Tensor:
    """The options of one state that can be taken."""
    return torch.from_numpy(batch[options][i]).view(-1, OPTION)[: int(batch[legal][i])]


def dueling(pieces: list[torch.Tensor], context: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
    w_context, w_option, b1, w2, b2, w3, w_value, b_value, w_last, b_last = pieces
    first = torch.relu(context @ w_context.T + options @ w_option.T + b1)
    advantage = (torch.relu(first @ w2.T + b2) @ w3.T).squeeze(1)
    value = torch.relu(context @ w_value.T + b_value) @ w_last.T + b_last
    return value + advantage - advantage.mean()


def transitions(rng: np.random.Generator) -> dict[str, Any]:
    """With any number of options, and next states in which nothing can be done."""
    n = LAYOUT.options
    columns = transition_columns(n)
    batch = {name: rng.random((BATCH, width)).astype(np.float32) for name, width in columns.items() if width}
    batch["legal"] = rng.integers(1, n + 1, BATCH).astype(np.float32)
    batch["next_legal"] = rng.integers(0, n + 1, BATCH).astype(np.float32)
    batch["chosen"] = rng.integers(0, batch["legal"].astype(np.int64)).astype(np.float32)
    # Some gaps are huge, so that both branches of the loss are taken.
    batch["gap"] = (rng.random(BATCH) * np.where(np.arange(BATCH) % 5, 1.0, 60.0)).astype(np.float32)
    batch["weight"] = rng.random(BATCH).astype(np.float32)
    return batch


@pytest.mark.parametrize("delayed", [True, False])
def test_value_network(delayed: bool) -> None:
    network = ValueNetwork(LAYOUT, BATCH, torch.Generator().manual_seed(1))
    filled(network.weights, 2)
    filled(network.target, 3)
    batch, gamma = transitions(np.random.default_rng(4)), 0.9
    leaves = as_leaves(network.weights)
    values, wanted, others_matter = [], [], False
    for i in range(BATCH):
        future = torch.tensor(0.0)
        with torch.no_grad():
            count = int(batch["next_legal"][i])
            if count:
                after = torch.from_numpy(batch["next_context"][i]), packed(batch, "next_options", "next_legal", i)
                response, other = (torch.from_numpy(batch[f"next_{n}"][i, :count]) for n in ("response", "other"))
                online = dueling(leaves, *after) - response
                judged = dueling(network.target.pieces, *after) - response if delayed else online
                # Energy and money decide which option comes next, but are no part of what is learned.
                best = (float(batch["weight"][i]) * online - other).argmax()
                others_matter |= bool(best != online.argmax())
                future = judged[best]
        now = torch.from_numpy(batch["context"][i]), packed(batch, "options", "legal", i)
        values.append(dueling(leaves, *now)[int(batch["chosen"][i])])
        wanted.append(gamma * future - float(batch["gap"][i]))
    assert others_matter
    value, target = torch.stack(values), torch.stack(wanted)
    loss = torch.nn.functional.huber_loss(value, target, delta=HUBER)
    assert float((value - target).detach().abs().max()) > HUBER
    loss.backward()  # type: ignore[no-untyped-call]
    for _ in range(2):  # the buffers of a step leave nothing behind for the next
        assert network.learn(batch, gamma, delayed=delayed) == pytest.approx(loss.item(), rel=1e-5)
    for ours, leaf in zip(network.weights.gradients, leaves, strict=True):
        torch.testing.assert_close(ours, leaf.grad, rtol=1e-4, atol=1e-6)


def test_the_mean_of_kept_weights() -> None:
    network = ValueNetwork(LAYOUT, BATCH, torch.Generator().manual_seed(1))
    for value in (1.0, 4.0):
        network.target.flat.fill_(value)
        network.keep()
    network.average()
    for weights in (network.weights, network.target):
        assert (weights.flat == 2.5).all()


def test_time_head() -> None:
    head = TimeHead(LAYOUT, BATCH, torch.Generator().manual_seed(1))
    filled(head.weights, 2)
    rng = np.random.default_rng(5)
    batch = {
        "features": rng.normal(size=(BATCH, TASK_FEATURES)).astype(np.float32),
        "kind": rng.integers(0, 2, BATCH).astype(np.float32),
        "coefficients": rng.normal(size=(BATCH, COEFFICIENTS)).astype(np.float32),
        "log_seconds": (3.0 * rng.normal(size=BATCH)).astype(np.float32),
    }
    leaves = as_leaves(head.weights)
    w1, b1, w2, b2, w3, b3 = leaves
    features, kind, own = (torch.from_numpy(batch[name]) for name in ("features", "kind", "coefficients"))
    x = torch.cat([features, kind[:, None]], dim=1)
    out = torch.tanh(torch.tanh(x @ w1.T + b1) @ w2.T + b2) @ w3.T + b3
    parts = torch.cat([torch.ones(BATCH, 1), features, out[:, 1:]], dim=1)
    loss = torch.nn.functional.huber_loss(out[:, 0] + (own * parts).sum(1), torch.from_numpy(batch["log_seconds"]))
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


def test_what_is_acted_on_follows_slowly() -> None:
    ours, average, acted_on = filled(Weights(((4, 3),), None), 1), filled(Weights(((4, 3),), None), 2), np.zeros(12)
    adam = Adam(ours, acted_on, 0, average=average)
    adam.export()
    assert acted_on == pytest.approx(average.flat.numpy())
    before = average.flat.clone()
    ours.gradient.fill_(1.0)
    adam.step(0.1, follow=0.25)
    torch.testing.assert_close(average.flat, before + 0.25 * (ours.flat - before))
    assert acted_on == pytest.approx(average.flat.numpy())


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
