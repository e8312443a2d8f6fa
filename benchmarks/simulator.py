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

from hybrid_scheduler.cluster.node import UnlabelledTasks
from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.model import FloatArray, TaskBatch
from hybrid_scheduler.model.node import Change
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import TimedTasks, World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.mct import MinimumCompletionTime
from hybrid_scheduler.schedulers.sjf import ShortestJobFirst
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

FEW = 2000
"""Tasks that SimPy races by the same rule: it would take minutes for all."""
RACERS = "round_robin,random,greedy,cpu_only,gpu_only,mct,oracle"


def ours(
    tasks: TaskBatch, times: FloatArray, kind: type[Scheduler] = MinimumCompletionTime
) -> tuple[float, FloatArray]:
    """The product's compiled loop."""
    scheduler = kind()
    node = simulated_node(scheduler, UnlabelledTasks(tasks), World())
    node.add(TimedTasks(node.world, tasks, times, times))
    driver = Driver(scheduler, node)
    start = time.perf_counter()
    change = driver.run()
    seconds = time.perf_counter() - start
    assert change is Change.OVER
    return seconds, node.outcomes().finish_time


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


def in_simpy_plain(tasks: TaskBatch, times: FloatArray) -> tuple[float, FloatArray]:
    """The plainest shortest job first in SimPy: every idle device takes the shortest task from a priority store.

    Whole tasks on whatever device is idle; `sjf` weighs devices and splits as well, so finish times differ.
    """
    whole = times.sum(axis=1)
    order, arrival, seconds = whole.min(axis=1).tolist(), tasks.arrival_time.tolist(), whole.tolist()
    env = simpy.Environment()
    store = simpy.PriorityStore(env)
    finish = [0.0] * len(order)

    def device(d: int):  # type: ignore[no-untyped-def]
        while True:
            item = yield store.get()
            yield env.timeout(seconds[item.item][d])
            finish[item.item] = env.now

    def arrivals():  # type: ignore[no-untyped-def]
        for i, at in enumerate(arrival):
            if at > env.now:
                yield env.timeout(at - env.now)
            yield store.put(simpy.PriorityItem(order[i], i))

    for d in range(whole.shape[1]):
        env.process(device(d))
    env.process(arrivals())
    start = time.perf_counter()
    env.run()
    return time.perf_counter() - start, np.array(finish)


def in_simpy_waiting(tasks: TaskBatch, times: FloatArray) -> tuple[float, FloatArray]:
    """The rule of `sjf` itself in SimPy: a priority store, and a dispatcher that is woken by whatever changes."""
    fixed, shared = times[:, 0].tolist(), times[:, 1].tolist()
    order, arrival = times.sum(axis=1).min(axis=1).tolist(), tasks.arrival_time.tolist()
    env = simpy.Environment()
    store = simpy.PriorityStore(env)
    free, finish, old = [0.0] * len(fixed[0]), [0.0] * len(order), dict[int, None]()
    splits = [((gpu, step / 20), (0, 1.0 - step / 20)) for gpu in range(1, len(free)) for step in range(1, 20)]

    def ends(i: int, parts: tuple[tuple[int, float], ...], stretch: float) -> float:
        return max(max(env.now, free[d]) + (fixed[i][d] + share * shared[i][d]) * stretch for d, share in parts)

    def choose(i: int) -> tuple[tuple[int, float], ...] | None:
        whole = min((((d, 1.0),) for d in range(len(free))), key=lambda parts: ends(i, parts, 1.0))
        split = min(splits, key=lambda parts: ends(i, parts, 1.05))
        if ends(i, split, 1.05) < ends(i, whole, 1.0) and all(free[d] <= env.now for d, _ in split):
            return split
        return whole if free[whole[0][0]] <= env.now else None

    def dispatch() -> None:
        while store.items and min(free) <= env.now:
            line = [item.item for item in heapq.nsmallest(8, store.items)]
            oldest = next(iter(old))
            for i in line if oldest in line else [*line, oldest]:
                if parts := choose(i):
                    break
            else:
                return
            store.items.remove(simpy.PriorityItem(order[i], i))
            heapq.heapify(store.items)
            del old[i]
            for d, share in parts:
                free[d] = env.now + (fixed[i][d] + share * shared[i][d]) * (1.05 if len(parts) == 2 else 1.0)
                finish[i] = max(finish[i], free[d])
                env.process(runs(free[d]))

    def runs(until: float):  # type: ignore[no-untyped-def]
        yield env.timeout(until - env.now)
        dispatch()

    def arrivals():  # type: ignore[no-untyped-def]
        for i, at in enumerate(arrival):
            if at > env.now:
                yield env.timeout(at - env.now)
            yield store.put(simpy.PriorityItem(order[i], i))
            old[i] = None
            dispatch()

    env.process(arrivals())
    start = time.perf_counter()
    env.run()
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


def waiting_duel(count: int, load: float) -> tuple[float, float, float]:
    """Seconds of `sjf` for so many tasks: our loop, SimPy by the same rule (on few, scaled), SimPy by the plain one."""
    tasks = WorkloadGenerator(1).generate("mixed", count, load * capacity("mixed", World()))
    few = WorkloadGenerator(1).generate("mixed", FEW, load * capacity("mixed", World()))
    times, few_times = World().timed(tasks).nominal, World().timed(few).nominal
    _, expected = ours(few, few_times, ShortestJobFirst)  # compiles outside the clock
    best = [float("inf")] * 3
    for _ in range(3):
        same, finish = in_simpy_waiting(few, few_times)
        worst = float(np.abs(finish - expected).max())
        if worst > 1e-6:
            raise SystemExit(f"SimPy and ours disagree by {worst} s: no figures")
        found = ours(tasks, times, ShortestJobFirst)[0], same * count / FEW, in_simpy_plain(tasks, times)[0]
        best = [min(pair) for pair in zip(best, found, strict=True)]
    return best[0], best[1], best[2]


def whole_comparison() -> tuple[float, float]:
    """`wall_seconds` of `hms compare --schedulers mct`, a million tasks; ten times SimPy's for a tenth of them."""
    command = [sys.executable, "-m", "hybrid_scheduler", "compare", "--schedulers", "mct", "--tasks", "1000000"]
    walls = []
    for _ in range(3):
        done = subprocess.run([*command, "--json", "-"], capture_output=True, text=True, check=True)
        walls.append(float(json.loads(done.stdout)["wall_seconds"]))
    tasks = WorkloadGenerator(1).generate("mixed", 100_000, 8.0)
    return min(walls), 10.0 * in_simpy(tasks, World().timed(tasks).nominal)[0]


def scaling() -> None:
    """`hms compare` with seven schedulers over growing workloads: seconds and memory."""
    print(f"\n{'tasks':>10} {'wall s':>8} {'us/task':>8} {'peak MB':>8}   hms compare, seven schedulers")
    for count in (10_000, 100_000, 1_000_000):
        code = (
            "import sys; from hybrid_scheduler.cli import main\n"
            "try: main()\n"
            "finally:\n"
            # Of this process alone: what `getrusage` says begins with the size of the one that started it.
            "    status = open('/proc/self/status').read()\n"
            "    sys.stderr.write('peak %d' % (int(status.split('VmHWM:')[1].split()[0]) // 1024))"
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
    print("\nshortest job first against SimPy with a priority store")
    for count, load in ((10 * options.tasks, 0.8), (options.tasks, 1.5)):
        mine, same, plain = waiting_duel(count, load)
        print(
            f"{count:>9} tasks, load {load:<4} {mine:>8.4f}s; SimPy, same rule {same:>8.1f}s {same / mine:>6.0f}x, "
            f"plainest rule {plain:>7.2f}s {plain / mine:>5.1f}x",
            flush=True,
        )
    if not options.no_scaling:
        mine, theirs = whole_comparison()
        print(f"\nhms compare, mct, 1000000 tasks: {mine:.2f} s inside, SimPy {theirs:.1f} s: {theirs / mine:.1f}x")
        scaling()


if __name__ == "__main__":
    main()
