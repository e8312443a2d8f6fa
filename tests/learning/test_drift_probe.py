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
    assert probe.group_seen(1) == 2
