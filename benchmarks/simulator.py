"""How fast the simulator is, against SimPy and a plain Python heap loop, and how it grows.

    python benchmarks/simulator.py            # both tables
    python benchmarks/simulator.py --tasks 20000 --no-scaling

All three run the same tasks on the same five devices by minimum completion time, in one process, interleaved, best of
three; their finish times must agree to 1e-9. Loops are compared with loops: building arrays, generating tasks and
compiling are outside every clock.
"""

from __future__ import annotations

import argparse
import heapq
import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import simpy

from hybrid_scheduler.cluster.state import DRAINED
from hybrid_scheduler.engine.contestant import compiled_policy, simulation_for
from hybrid_scheduler.model import FloatArray, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.mct import MinimumCompletionTime
from hybrid_scheduler.workloads import WorkloadGenerator

RACERS = "round_robin,random,greedy,cpu_only,gpu_only,mct,oracle"


def ours(tasks: TaskBatch, times: FloatArray) -> tuple[float, FloatArray]:
    """The product's compiled loop."""
    scheduler = MinimumCompletionTime()
    sim = simulation_for(scheduler, ClusterSpec.default(), Physics())
    sim.add(tasks, times, times)
    policy = compiled_policy(MinimumCompletionTime.kernel)
    start = time.perf_counter()
    reason = sim.run(policy, scheduler.kernel_state())
    seconds = time.perf_counter() - start
    assert reason == DRAINED
    return seconds, sim.outcomes().finish_time


def in_simpy(tasks: TaskBatch, times: FloatArray) -> tuple[float, FloatArray]:
    """The same in SimPy: a resource per device, a process per task."""
    whole = times.sum(axis=1).tolist()
    arrival, parents = tasks.arrival_time.tolist(), parent_lists(tasks)
    env = simpy.Environment()
    devices = [simpy.Resource(env) for _ in whole[0]]
    free = [0.0] * len(devices)
    finish = [0.0] * len(whole)
    done = [env.event() for _ in whole] if tasks.has_dependencies else []

    def task(i: int):  # type: ignore[no-untyped-def]
        if arrival[i] > env.now:
            yield env.timeout(arrival[i] - env.now)
        if done and parents[i]:
            yield env.all_of([done[p] for p in parents[i]])
        row, now = whole[i], env.now
        best = min(range(len(row)), key=lambda d: max(free[d], now) + row[d])
        free[best] = max(free[best], now) + row[best]
        with devices[best].request() as turn:
            yield turn
            yield env.timeout(row[best])
        finish[i] = env.now
        if done:
            done[i].succeed()

    def arrivals():  # type: ignore[no-untyped-def]
        for i, at in enumerate(arrival):
            if at > env.now:
                yield env.timeout(at - env.now)
            env.process(task(i))

    env.process(arrivals())
    start = time.perf_counter()
    env.run()
    return time.perf_counter() - start, np.array(finish)


def in_python(tasks: TaskBatch, times: FloatArray) -> tuple[float, FloatArray]:
    """The same in plain Python: one heap of ready tasks."""
    whole = times.sum(axis=1).tolist()
    arrival, parents = tasks.arrival_time.tolist(), parent_lists(tasks)
    children: list[list[int]] = [[] for _ in whole]
    for i, mine in enumerate(parents):
        for parent in mine:
            children[parent].append(i)
    waiting, ready_at = [len(p) for p in parents], list(arrival)
    free, finish = [0.0] * len(whole[0]), [0.0] * len(whole)
    heap = [(at, i) for i, at in enumerate(arrival) if not waiting[i]]
    heapq.heapify(heap)
    start = time.perf_counter()
    while heap:
        now, i = heapq.heappop(heap)
        best, least = 0, float("inf")
        for d, seconds in enumerate(whole[i]):
            end = (free[d] if free[d] > now else now) + seconds
            if end < least:
                best, least = d, end
        free[best] = finish[i] = least
        for child in children[i]:
            ready_at[child] = max(ready_at[child], least)
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(heap, (ready_at[child], child))
    return time.perf_counter() - start, np.array(finish)


def parent_lists(tasks: TaskBatch) -> list[list[int]]:
    """The parents of every task as lists of positions."""
    start, parents = tasks.parent_start.tolist(), tasks.parents.tolist()
    return [parents[start[i] : start[i + 1]] for i in range(len(tasks))]


def duel(count: int, dependency_prob: float) -> dict[str, float]:
    """Best of three of each, taking turns; refuses to report figures of runs that disagree."""
    tasks = WorkloadGenerator(1).generate("mixed", count, 8.0, dependency_prob=dependency_prob, max_dependencies=3)
    times = Physics().nominal_times(tasks, ClusterSpec.default())
    ways: dict[str, Callable[[TaskBatch, FloatArray], tuple[float, FloatArray]]] = {
        "ours": ours,
        "simpy": in_simpy,
        "python": in_python,
    }
    best = dict.fromkeys(ways, float("inf"))
    ours(tasks, times)  # compile outside the clock
    for _ in range(3):
        finishes = {}
        for name, way in ways.items():
            seconds, finishes[name] = way(tasks, times)
            best[name] = min(best[name], seconds)
        for name in ("simpy", "python"):
            worst = float(np.abs(finishes[name] - finishes["ours"]).max())
            if worst > 1e-9:
                raise SystemExit(f"{name} and ours disagree by {worst} s: no figures")
    return best


def scaling() -> None:
    """`hms compare` with seven schedulers over growing workloads: seconds and memory."""
    print(f"\n{'tasks':>10} {'wall s':>8} {'us/task':>8} {'peak MB':>8}   hms compare, seven schedulers")
    for count in (10_000, 100_000, 1_000_000):
        code = (
            "import resource, sys; from hybrid_scheduler.cli import main\n"
            "try: main()\n"
            "finally: sys.stderr.write('peak %d' % (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))"
        )
        command = ["compare", "--schedulers", RACERS, "--tasks", str(count), "--load", "0.6", "--json", "-"]
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
        wall = time.perf_counter() - start
        document = json.loads(done.stdout)
        peak = done.stderr.rpartition("peak ")[2]
        inside = document["wall_seconds"]
        print(f"{count:>10} {wall:>8.2f} {inside / count * 1e6:>8.2f} {peak:>8}   ({inside:.2f} s without start-up)")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--no-scaling", action="store_true")
    options = parser.parse_args()
    print(f"{options.tasks} tasks, 5 devices, minimum completion time; best of 3, interleaved")
    print(f"{'':<22} {'ours':>9} {'SimPy':>9} {'python':>9} {'vs SimPy':>9} {'vs python':>9}")
    for title, probability in (("independent", 0.0), ("0-3 parents", 0.75)):
        best = duel(options.tasks, probability)
        print(
            f"{title:<22} {best['ours']:>8.4f}s {best['simpy']:>8.3f}s {best['python']:>8.3f}s"
            f" {best['simpy'] / best['ours']:>8.0f}x {best['python'] / best['ours']:>8.1f}x"
        )
    if not options.no_scaling:
        scaling()


if __name__ == "__main__":
    main()
