"""Lanes that are actors of a Ray cluster: one on every device of every machine, where it stays.

Ray gives membership and transport. An actor asks for no processor of Ray's, so that Ray queues nothing: a lane gets a
job when we decide so. Machines that join the cluster later are not used.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hybrid_scheduler.hardware.nodes.lanes import Ending, Work
from hybrid_scheduler.hardware.nodes.pickling import PROTOCOL, dumps
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.hardware.nodes.worker_lanes import FRUITLESS_STARTS, LaneState, WorkerLane, WorkerLanes, report_of
from hybrid_scheduler.hardware.ray_cluster import RayCluster, connect, own_sources, this_machine
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.view import NO_TIMES
from hybrid_scheduler.physics.device import ClusterSpec

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.nodes.ray_actor import Found

SHOWS_EVERY_GPU = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""An actor that asks Ray for no GPU sees every one; which one it may see is said by its slot."""
PINGS = 7
LINK_MEGABYTES = 8
END_SECONDS = 10.0
"""How long `close` waits for actors that were killed."""

_LOG = logging.getLogger(__name__)


class _News(NamedTuple):
    """A call of an actor has ended."""

    lane: int
    actor: Any
    hear: Callable[[_Lane, Any, float], None] | None
    """What to do with its value, when it came; None for the call that never ends."""
    value: Any
    error: BaseException | None
    time: float


class _Lane(WorkerLane):
    """A lane and its actor."""

    def __init__(self, number: int, slot: Slot, machine: str) -> None:
        super().__init__(number, slot)
        self.machine = machine
        """Ray's name of the machine."""
        self.actor: Any = None
        self.sent = 0.0
        """When it got its job."""
        self.offset = 0.0
        """What our clock is ahead of the actor's."""
        self.pings: list[tuple[float, float]] = []
        """Of each: how long it took, and what our clock was ahead in the middle of it."""


class RayLanes(WorkerLanes[_Lane]):
    """Actors of a Ray cluster, started when this is made and replaced when they are lost, as long as their machine is.

    A machine that is lost takes its lanes with it. What jobs print stands in Ray's logs.

    Args:
        cluster: The connection; it is closed with the lanes.
        cpu_lanes: How many lanes share the cores of each machine, as for `nodes.machine.find_lanes`.
        warm_up: What every actor runs before it is up; an actor in which it fails does not come up.

    Attributes:
        slots: The lanes, each with its share of its machine.

    Raises:
        InvalidInputError: A machine has too few cores, or another state of this package.
    """

    _worker: ClassVar[str] = "actor"

    def __init__(self, cluster: RayCluster, cpu_lanes: int | None = None, *, warm_up: Work | None = None) -> None:
        from hybrid_scheduler.hardware.nodes.ray_actor import GROUPS, LaneActor

        super().__init__()
        self._ray = ray = cluster.ray
        self._connection = cluster
        self._news: SimpleQueue[_News | None] = SimpleQueue()
        self._closing = weakref.finalize(self, _close, cluster, self._news, self._lanes)
        try:
            machines = _machines(ray)
            found = _ask(ray, machines, cpu_lanes)
            named = _named(found)
            self.slots = tuple(slot for slots in named for slot in slots)
            self.cluster = ClusterSpec(tuple(slot.device for slot in self.slots))
            self._links = _links(ray, machines, [slot.device.node for slot in self.slots])
            self._warm_up = dumps(warm_up)
            for machine, slots in zip(machines, named, strict=True):
                for slot in slots:
                    self._lanes.append(_Lane(len(self._lanes), slot, str(machine["NodeID"])))
            self._remote = ray.remote(num_cpus=0, max_restarts=0, concurrency_groups=GROUPS)(LaneActor)
            self._start_all()
        except BaseException:
            self.close()
            raise

    @property
    def links(self) -> FloatArray:
        """Seconds a megabyte takes between machines, measured once; nothing within one."""
        return self._links

    def wake(self) -> None:
        """Have `wait` return at once, from any thread."""
        self._news.put(None)

    def _pass_on(self, lane: _Lane, message: bytes, prepares: bool) -> None:
        lane.sent = lane.since
        self._hear(lane, lane.actor.run.remote(message), self._ended)
        if prepares:
            self._hear(lane, lane.actor.begun.remote(lane.jobs), lambda it, _, now: it.note_begun(now))

    def _listen(self, seconds: float) -> bool:
        try:
            self._take(self._news.get(timeout=seconds))
        except Empty:
            return False
        self._take_all()
        return True

    def _catch_up(self, lane: _Lane) -> None:
        self._take_all()

    def _kill(self, lane: _Lane) -> None:
        self._ray.kill(lane.actor)

    def _take_all(self) -> None:
        while not self._news.empty():
            self._take(self._news.get())

    def _take(self, news: _News | None) -> None:
        """Act on what has happened; None is that somebody wakes us."""
        if news is None:
            self._is_woken = True
            return
        lane = self._lanes[news.lane]
        if news.actor is not lane.actor:
            return
        if news.error is None and news.hear is not None:
            if lane.state is not LaneState.ENDING:
                news.hear(lane, news.value, news.time)
        elif news.hear is None or lane.state is LaneState.STARTING:  # the other calls fail too when their actor is lost
            self._gone(lane, news.error)

    def _hear(self, lane: _Lane, call: Any, hear: Callable[[_Lane, Any, float], None] | None) -> None:
        """Have a call's end noted; Ray tells of it in a thread of its own."""
        call.future().add_done_callback(partial(_note, self._news, lane.number, lane.actor, hear))

    def _start(self, lane: _Lane) -> None:
        slot = lane.slot
        lane.actor = self._remote.options(
            scheduling_strategy=_pinned(lane.machine),
            runtime_env={"env_vars": {**slot.environment({}), **SHOWS_EVERY_GPU}},
        ).remote(pickle.dumps(slot, PROTOCOL), self._warm_up, [path or os.getcwd() for path in sys.path])
        lane.note_start()
        lane.pings = []
        self._hear(lane, lane.actor.hold.remote(), None)
        self._hear(lane, lane.actor.ready.remote(), self._ready)

    def _ready(self, lane: _Lane, machine: str, now: float) -> None:
        if machine == this_machine():
            lane.offset = 0.0
            self._come_up(lane)
        else:
            self._ping(lane)

    def _ping(self, lane: _Lane) -> None:
        asked = monotonic()
        self._hear(lane, lane.actor.clock.remote(), partial(self._answered, asked))

    def _answered(self, asked: float, lane: _Lane, reading: float, now: float) -> None:
        """One more comparison of the clocks; the quickest counts, because it leaves the least to guess."""
        lane.pings.append((now - asked, (asked + now) / 2 - reading))
        if len(lane.pings) < PINGS:
            self._ping(lane)
        else:
            lane.offset = min(lane.pings)[1]
            self._come_up(lane)

    def _ended(self, lane: _Lane, answer: tuple[bytes, bool], now: float) -> None:
        if lane.job is None:
            return
        message, well = answer
        report = report_of(lane, lane.job, message)
        # Clocks of two machines are compared within a millisecond or so; a job cannot have run before it was sent.
        start = min(max(report.start + lane.offset, lane.sent), now)
        end = min(max(report.end + lane.offset, start), now)
        self._finish(lane, replace(report, start=start, end=end))
        if not well:
            self._end(lane, Ending.DIED, f"{lane.slot.device.name} is not well")

    def _gone(self, lane: _Lane, error: BaseException | None) -> None:
        """An actor is no more: another takes its place, if its machine is still there."""
        self._go_down(lane, Ending.DIED, f"the actor of {lane.slot.device.name} was lost: {error}")
        self._ray.kill(lane.actor)
        lane.fruitless = 0 if lane.jobs else lane.fruitless + 1
        there = any(node["Alive"] and node["NodeID"] == lane.machine for node in self._ray.nodes())
        if there and lane.fruitless < FRUITLESS_STARTS:
            self._start(lane)
            return
        lane.actor = None
        self._stay_down(lane)
        why = "its actors end before they have a job" if there else "its machine is gone"
        _LOG.error("%s stays down, because %s (%s)", lane.slot.device.name, why, error)


def open_ray_lanes(node: str, cpu_lanes: int | None = None, *, warm_up: Work | None = None) -> RayLanes:
    """The lanes of a Ray cluster (`ray_cluster.connect`), starting.

    Raises:
        MissingExtraError: Ray is not installed.
        InvalidInputError: No cluster answers, a machine has too few cores, or another state of this package.
    """
    return RayLanes(connect(node), cpu_lanes, warm_up=warm_up)


def _note(
    news: SimpleQueue[_News | None],
    lane: int,
    actor: Any,
    hear: Callable[[_Lane, Any, float], None] | None,
    future: Any,
) -> None:
    error = future.exception()
    news.put(_News(lane, actor, hear, None if error is not None else future.result(), error, monotonic()))


def _machines(ray: Any) -> list[dict[str, Any]]:
    """Those of the cluster that can run something: this one first, then by address."""
    here = ray.get_runtime_context().get_node_id()
    there = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    return sorted(there, key=lambda node: (node["NodeID"] != here, node["NodeManagerAddress"], node["NodeID"]))


def _pinned(machine: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(machine, soft=False)


def _ask(ray: Any, machines: Sequence[dict[str, Any]], cpu_lanes: int | None) -> list[Found]:
    """What every machine has."""
    from hybrid_scheduler.hardware.nodes.ray_actor import look_around

    task = ray.remote(num_cpus=0)(look_around)
    asked = [
        task.options(scheduling_strategy=_pinned(machine["NodeID"]), runtime_env={"env_vars": SHOWS_EVERY_GPU}).remote(
            own_sources(), cpu_lanes, int(machine["Resources"]["CPU"]), int(machine["Resources"].get("GPU", 0))
        )
        for machine in machines
    ]
    try:
        found: list[Found] = ray.get(asked)
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, InvalidInputError) else error from error
    return found


def _named(found: Sequence[Found]) -> list[list[Slot]]:
    """Every machine's lanes with names that differ, the number of the machine, and what its CPU is."""
    named: list[list[Slot]] = []
    counts = {"cpu": 0, "gpu": 0}
    for number, machine in enumerate(found):
        slots = []
        for slot in machine.slots:
            kind = slot.device.kind
            device = replace(slot.device, name=f"{kind}_{counts[kind]}", node=number)
            hardware = f"{machine.cpu}, {slot.threads} threads" if kind == "cpu" else slot.hardware
            slots.append(replace(slot, device=device, hardware=hardware))
            counts[kind] += 1
        named.append(slots)
    return named


def _links(ray: Any, machines: Sequence[dict[str, Any]], nodes: Sequence[int]) -> FloatArray:
    """Seconds a megabyte takes between lanes, by the numbers of their machines; empty where there is one machine."""
    count = len(machines)
    if count == 1:
        return NO_TIMES
    from hybrid_scheduler.hardware.nodes.ray_actor import fetched, made

    make, fetch = ray.remote(num_cpus=0)(made), ray.remote(num_cpus=0)(fetched)
    pinned = [_pinned(machine["NodeID"]) for machine in machines]
    # The first of them opens the connection, whose time does not count.
    data = [[make.options(scheduling_strategy=at).remote(size) for size in (1, LINK_MEGABYTES)] for at in pinned]
    between = np.zeros((count, count))
    for a, b in combinations(range(count), 2):
        between[a, b] = between[b, a] = ray.get(fetch.options(scheduling_strategy=pinned[b]).remote(data[a]))
    return np.ascontiguousarray(between[np.ix_(nodes, nodes)])


def _close(cluster: RayCluster, news: SimpleQueue[_News | None], lanes: list[_Lane]) -> None:
    """Kill the actors, wait until they are gone, and let go of the cluster."""
    if cluster.ray.is_initialized():
        left = {lane.number: lane.actor for lane in lanes if lane.actor is not None}
        for actor in left.values():
            cluster.ray.kill(actor)
        until = monotonic() + END_SECONDS
        while left and monotonic() < until:
            try:
                ended = news.get(timeout=max(0.0, until - monotonic()))
            except Empty:
                break
            if ended is not None and ended.hear is None and left.get(ended.lane) is ended.actor:
                del left[ended.lane]
    cluster.close()
