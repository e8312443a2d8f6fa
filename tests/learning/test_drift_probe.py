"""The drift probe counts the changes it noticed."""

from __future__ import annotations

from hybrid_scheduler.learning.drift_probe import DriftProbe


def test_every_change_that_was_noticed_is_counted_once() -> None:
    probe = DriftProbe([0, 1])
    assert not any(probe.notice(0, 0.01, unlike=False) for _ in range(20))
    assert probe.alarms == 0
    for alarms in (1, 2):
        while not probe.notice(1, 3.0, unlike=True):
            pass
        probe.reset()
        assert probe.alarms == alarms
    assert probe.seen.tolist() == [0, 2]


def test_a_new_node_is_met_device_by_device_and_a_changed_one_group_by_group() -> None:
    probe = DriftProbe([0, 1, 1])
    assert probe.unheard() == [[0], [1], [2]]
    for device in (0, 0, 1, 1, 2):
        probe.notice(device, 0.0, unlike=False)
    assert probe.unheard() == [[2]]
    probe.reset()
    probe.notice(2, 0.0, unlike=False)
    assert probe.unheard() == [[0], [1, 2]]
    probe.notice(1, 0.0, unlike=False)
    assert probe.unheard() == [[0]]


def test_a_large_node_is_met_group_by_group() -> None:
    assert DriftProbe([0] * 1000).unheard() == [list(range(1000))]
