"""Lanes on a Ray cluster of two machines, emulated here, satisfy the contract; a machine that is lost stops nobody."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from lane_works import Call
from ray_work import note, ran_in

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.hardware.nodes import ray_lanes
from hybrid_scheduler.hardware.nodes.find import open_lanes
from hybrid_scheduler.hardware.nodes.lanes import LaneChange
from hybrid_scheduler.hardware.nodes.measured_times import MeasuredTimes
from hybrid_scheduler.hardware.nodes.ray_lanes import RayLanes
from hybrid_scheduler.hardware.nodes.real_node import RealNode
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError
from hybrid_scheduler.model.node import Change
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing.lanes import check_lanes

pytestmark = pytest.mark.slow
MACHINE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@dataclass
class Machines:
    """Two machines, one lane each; the second can be lost."""

    cluster: Any
    second: Any

    def lose_second(self) -> None:
        self.cluster.remove_node(self.second, allow_graceful=False)


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    """Emulated here; everything of them is gone after."""
    before = set(psutil.Process().children(recursive=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={**MACHINE, "include_dashboard": False})
        try:
            second = cluster.add_node(**MACHINE)
            patch.setenv("RAY_ADDRESS", cluster.address)
            yield Machines(cluster, second)
        finally:
            started = set(psutil.Process().children(recursive=True)) - before
            cluster.shutdown()  # type: ignore[no-untyped-call]
    assert started, "nothing was started"
    assert psutil.wait_procs(started, timeout=60)[1] == []


def test_no_cluster_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(address: str, **options: object) -> None:
        raise ConnectionError(f"nobody at {address}")

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(InvalidInputError, match=r"no Ray cluster answers there \(nobody at ray://127.0.0.1:1\)"):
        open_lanes("ray://127.0.0.1:1")
    with pytest.raises(InvalidInputError, match=r"\(nobody at auto\)"):
        open_lanes("ray://auto")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[ray\]"):
        open_lanes("ray")


def test_ray_lanes_satisfy_the_contract(machines: Machines) -> None:
    check_lanes(lambda: open_lanes("ray://auto", 1))


@pytest.fixture(scope="module")
def lanes(machines: Machines) -> Iterator[ReusedLanes]:
    """One lane of each machine. As if their clocks were others than ours: they are compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_lanes, "this_machine", lambda: "somewhere else")
        lanes = ReusedLanes(open_lanes("ray://auto", 1))
        yield lanes
        lanes.close()


LONG, SHORT = 0.4, 0.02


def _mean_response(name: str, lanes: ReusedLanes, begun: Path) -> float:
    """Of 4 long tasks and 18 short ones behind them, by a scheduler that knows how long they take."""
    lanes.begin_turn()
    times = MeasuredTimes(lanes.hardware)
    tasks = [Task(k, 1.0, 0.5, 0.0, 0.0, kind="long" if k < 4 else "short") for k in range(22)]
    for task in (tasks[0], tasks[-1]):
        times.learn(task, 0, LONG if task.kind == "long" else SHORT)
    scheduler = create_scheduler(name)
    node = RealNode(scheduler, lanes, times)
    node.begin()
    for task in tasks:
        node.add(task, Call(note, (begun, LONG if task.kind == "long" else SHORT)))
    driver = Driver(scheduler, node, compiled=False)
    assert driver.run() is Change.OVER
    driver.deliver()
    assert node.failures() == {}
    return float(node.outcomes().response_time.mean())


def test_the_devices_of_all_machines_are_one_nodes(lanes: ReusedLanes) -> None:
    assert lanes.cluster.names == ("cpu_0", "cpu_1")
    assert [device.node for device in lanes.cluster.devices] == [0, 1]
    assert lanes.links.shape == (2, 2)
    assert lanes.links[0, 1] == lanes.links[1, 0] > 0.0
    assert lanes.links[0, 0] == lanes.links[1, 1] == 0.0


def test_order_pays(lanes: ReusedLanes, tmp_path: Path) -> None:
    first_come, shortest_first = (_mean_response(name, lanes, tmp_path / name) for name in ("fcfs", "sjf"))
    assert len(ran_in(tmp_path / "sjf")) == 2, "one lane did it all"
    assert shortest_first <= 0.6 * first_come


def test_clocks_are_compared(lanes: ReusedLanes) -> None:
    """That of both machines is ours, so what they seem to differ by is at most half of what a ping took."""
    assert isinstance(lanes._lanes, RayLanes)
    for lane in lanes._lanes._lanes:
        took, _ = min(lane.pings)
        assert abs(lane.offset) <= took / 2 + 1e-6


def test_a_machine_is_lost(
    machines: Machines, lanes: ReusedLanes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What ran there is decided again; everything is done, and nobody waits for the lost one."""
    scheduler, begun = create_scheduler("fcfs"), tmp_path / "begun"
    lanes.begin_turn()
    node = RealNode(scheduler, lanes, MeasuredTimes(lanes.hardware))
    node.begin()
    for number in range(40):
        node.add(Task(number, 100.0, 0.5, 10.0), Call(note, (begun, 0.05)))
    driver = Driver(scheduler, node, compiled=False)
    lost = False
    until = monotonic() + 120.0
    with caplog.at_level(logging.ERROR):
        while (change := driver.run(until=node.now + 0.2)) is not Change.OVER:
            assert change is Change.REACHED
            assert monotonic() < until, f"{node.unfinished} tasks are not over"
            if not lost and len(ran_in(begun)) == 2:
                machines.lose_second()
                lost = True
        driver.deliver()
        assert lost, "the second machine was never used"
        assert node.failures() == {}
        outcomes = node.outcomes()
        assert sorted(outcome.task_id for outcome in outcomes) == list(range(40))
        assert not outcomes.failed.any()
        while not any(event == LaneChange(1, up=False, final=True) for event in lanes.wait(1.0)):
            assert monotonic() < until, "the lane of the lost machine is still hoped for"
    assert "its machine is gone" in caplog.text
