"""Decisions that cannot be carried out: the error names scheduler, task and rule."""

from __future__ import annotations

import math

import pytest
from scripted import CPU, DEVICES, GPU, OTHER, Scripted, race, task, whole

from hybrid_scheduler.cluster.state import ILLEGAL as FIRST
from hybrid_scheduler.cluster.state import ILLEGAL_REASONS, NOT_WAITING
from hybrid_scheduler.model import Decision, IllegalDecisionError, Part
from hybrid_scheduler.physics.device import Device

ILLEGAL: list[tuple[tuple[Part, ...], str]] = [
    ((), "it has no part or more than two"),
    ((Part(CPU, 0.5), Part(GPU, 0.25), Part(OTHER, 0.25)), "it has no part or more than two"),
    ((Part(-1),), "a part names a device that does not exist"),
    ((Part(4),), "a part names a device that does not exist"),
    ((Part(GPU, 0.5), Part(9, 0.5)), "a part names a device that does not exist"),
    ((Part(3),), "a part names a device that is down"),
    ((Part(GPU, 0.0), Part(CPU, 1.0)), "a share is not above 0 and at most 1"),
    ((Part(GPU, -0.5), Part(CPU, 1.5)), "a share is not above 0 and at most 1"),
    ((Part(GPU, math.nan),), "a share is not above 0 and at most 1"),
    ((Part(GPU, 1.0, -1.0),), "an expected time is negative or not a number"),
    ((Part(GPU, 1.0, math.nan),), "an expected time is negative or not a number"),
    ((Part(GPU, 1.0, math.inf),), "an expected time is negative or not a number"),
    ((Part(GPU, 0.9),), "the shares of its parts do not add up to 1"),
    ((Part(GPU, 0.5), Part(CPU, 0.4)), "the shares of its parts do not add up to 1"),
    ((Part(GPU, 0.5), Part(CPU, 0.500001)), "the shares of its parts do not add up to 1"),
    ((Part(GPU, 0.5), Part(OTHER, 0.5)), "a split needs one GPU and one CPU"),
    ((Part(GPU, 0.5), Part(GPU, 0.5)), "a split needs one GPU and one CPU"),
    ((Part(CPU, 0.5), Part(CPU, 0.5)), "a split needs one GPU and one CPU"),
    ((Part(OTHER, 0.5), Part(CPU, 0.5)), "a split must stay within one node"),
]

CLUSTER = (*DEVICES[:2], Device("gpu_1", "gpu", node=1), Device("gpu_2", "gpu"))


@pytest.mark.parametrize(("parts", "rule"), ILLEGAL)
def test_illegal(parts: tuple[Part, ...], rule: str) -> None:
    script = Scripted({3: [whole(CPU)], 17: [Decision(parts)]})
    times = dict.fromkeys((3, 17), (8.0, 4.0, 4.0, 4.0))
    race_ = race([task(3), task(17, 2.0)], [(1.0, "gpu_2", 0.0)], devices=CLUSTER, seconds=times)
    with pytest.raises(IllegalDecisionError, match=rule) as caught:
        race_.run(script)
    assert "Scripted" in str(caught.value)
    assert "task 17" in str(caught.value)


def test_every_rule_has_an_example() -> None:
    at_once = set(ILLEGAL_REASONS[: NOT_WAITING - FIRST])  # those of gangs have a test of their own
    assert {rule for _, rule in ILLEGAL} == at_once


@pytest.mark.parametrize("parts", [(Part(GPU, 1 - 1e-15),), (Part(CPU, 0.1), Part(GPU, 1 - 0.1 + 1e-15))])
def test_rounding_is_forgiven(parts: tuple[Part, ...]) -> None:
    (outcome,) = race([task(0)]).run(Scripted({0: [Decision(parts)]}))
    assert not outcome.failed


def test_decision_split_at_the_ends_is_whole() -> None:
    assert Decision.split(GPU, CPU, 0.0, (1.0, 2.0)) == Decision((Part(CPU, 1.0, 2.0),))
    assert Decision.split(GPU, CPU, 1.0, (1.0, 2.0)) == Decision((Part(GPU, 1.0, 1.0),))
    assert Decision.split(GPU, CPU, 0.3, (1.0, 2.0)) == Decision((Part(GPU, 0.3, 1.0), Part(CPU, 0.7, 2.0)))
