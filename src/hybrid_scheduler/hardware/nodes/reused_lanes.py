"""Lanes that several nodes use, one after the other, so that workers stay warm between races."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_scheduler.hardware.nodes.lanes import LANE_LOST, Event, ForwardedLanes, LaneChange, Lanes, Report
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.device import ClusterSpec


class ReusedLanes(ForwardedLanes):
    """The same lanes; whoever begins a turn is told what happened to them before.

    A turn ends when nothing runs any more. Closing this closes the lanes.

    Args:
        lanes: The lanes.
        cluster: What is known of their devices, such as watts and prices, instead of what the lanes say.

    Raises:
        InvalidInputError: Those are other devices.
    """

    def __init__(self, lanes: Lanes, cluster: ClusterSpec | None = None) -> None:
        if cluster is not None and _kinds(cluster) != _kinds(lanes.cluster):
            raise InvalidInputError(
                f"the node is described as {_words(cluster)}, but this machine's lanes are {_words(lanes.cluster)}; "
                "calibrate with as many lanes as are used, or leave the description out"
            )
        super().__init__(lanes, cluster)
        self._known: dict[int, LaneChange] = {}
        self._told: list[Event] = []

    def begin_turn(self) -> None:
        """Let the next node use the lanes: `wait` tells it first which are up, and which are gone for good."""
        self._told = list(self._known.values())

    def wait(self, seconds: float) -> list[Event]:
        """See `Lanes.wait`."""
        if self._told:
            told, self._told = self._told, []
            return told
        events = self._lanes.wait(seconds)
        self._note(events)
        return events

    def _note(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, LaneChange):
                self._known[event.lane] = event
            elif isinstance(event, Report) and event.ending in LANE_LOST:
                self._known.pop(event.lane, None)


def _kinds(cluster: ClusterSpec) -> list[tuple[str, str]]:
    return [(device.name, device.kind) for device in cluster.devices]


def _words(cluster: ClusterSpec) -> str:
    return ", ".join(cluster.names)
