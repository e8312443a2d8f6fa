"""What our lanes on Ray cost: no-op jobs through them, against bare Ray actors with one call in flight each.

    python benchmarks/ray_lanes.py --calls 5000

Two actors each, on a cluster of this machine, in turns; the medians of the rounds are compared. `bare_actors` is the
yardstick of other benchmarks too.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from statistics import median
from time import perf_counter
from types import ModuleType
from typing import Any

from no_op import Nothing

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.hardware.nodes.lanes import Ending, Job, LaneChange, Lanes, Report, WorkResult
from hybrid_scheduler.hardware.nodes.measured_times import MeasuredTimes
from hybrid_scheduler.hardware.nodes.ray_lanes import RayLanes
from hybrid_scheduler.hardware.nodes.real_node import RealNode
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.hardware.ray_cluster import RayCluster, connect
from hybrid_scheduler.model.node import Change
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.schedulers.registry import create_scheduler

LANES = 2


class _Bare:
    def call(self, function: Callable[[], Any]) -> Any:
        return function()


def bare_actors(ray: ModuleType, function: Callable[[], Any], calls: int, actors: int = LANES) -> float:
    """Calls a second of bare actors that ask for no processor, each with one call in flight, by `ray.wait`."""
    pool = [ray.remote(num_cpus=0)(_Bare).remote() for _ in range(actors)]
    ray.get([actor.call.remote(function) for actor in pool])
    began = perf_counter()
    running = {actor.call.remote(function): actor for actor in pool}
    sent = len(pool)
    while running:
        for done in ray.wait(list(running), num_returns=1)[0]:
            actor = running.pop(done)
            ray.get(done)
            if sent < calls:
                running[actor.call.remote(function)] = actor
                sent += 1
    seconds = perf_counter() - began
    for actor in pool:
        ray.kill(actor)
    return calls / seconds


def through_lanes(lanes: Lanes, calls: int) -> float:
    """Jobs a second through lanes that are up, without a node in front."""
    began = perf_counter()
    sent = done = 0
    for lane in range(LANES):
        lanes.send(lane, Job(sent, Nothing()))
        sent += 1
    while done < calls:
        for event in lanes.wait(60.0):
            assert isinstance(event, Report)
            assert event.ending is Ending.DONE
            done += 1
            if sent < calls:
                lanes.send(event.lane, Job(sent, Nothing()))
                sent += 1
    return calls / (perf_counter() - began)


def through_node(lanes: ReusedLanes, name: str, calls: int) -> float:
    """Tasks a second through a node over these lanes, decisions included."""
    scheduler = create_scheduler(name)
    lanes.begin_turn()
    node = RealNode(scheduler, lanes, MeasuredTimes(lanes.hardware))
    for number in range(calls):
        node.add(Task(number, 1.0, 0.5, 0.0, 0.0), Nothing())
    began = perf_counter()
    driver = Driver(scheduler, node, compiled=False)
    assert driver.run() is Change.OVER
    seconds = perf_counter() - began
    assert not node.failures()
    return calls / seconds


def up(cluster: RayCluster) -> ReusedLanes:
    """Lanes that are up."""
    lanes = ReusedLanes(RayLanes(cluster, LANES))
    there = 0
    while there < LANES:
        there += sum(isinstance(event, LaneChange) and event.up for event in lanes.wait(60.0))
    return lanes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scheduler", default="fcfs")
    options = parser.parse_args()
    cluster = connect("ray", processors=LANES)
    lanes = up(RayCluster(cluster.ray, ours=False))
    rates: dict[str, list[float]] = {"bare_actors": [], "lanes": [], "node": []}
    try:
        through_lanes(lanes, 300)
        for _ in range(options.rounds):
            rates["bare_actors"].append(bare_actors(cluster.ray, WorkResult, options.calls))
            rates["lanes"].append(through_lanes(lanes, options.calls))
            rates["node"].append(through_node(lanes, options.scheduler, options.calls))
    finally:
        lanes.close()
        cluster.close()
    medians = {name: round(median(each)) for name, each in rates.items()}
    shares = {f"{name}_share": round(medians[name] / medians["bare_actors"], 3) for name in ("lanes", "node")}
    facts = {"calls": options.calls, "rounds": options.rounds, "scheduler": options.scheduler, "cores": os.cpu_count()}
    print(json.dumps({**facts, "a_second": medians, **shares, "load": round(os.getloadavg()[0], 2)}, indent=2))


if __name__ == "__main__":
    main()
