"""How fast the executor is: functions that do nothing, against bare executors; and what the order of jobs is worth.

    python benchmarks/executor.py            # this machine, against concurrent.futures.ProcessPoolExecutor
    python benchmarks/executor.py --ray      # a Ray cluster started here, against bare actors, one call in flight each

Everything is measured in turn, several times over, and medians are compared: what else the machine does falls on all.
Calls this short travel together (`executor.driver_thread`); what one costs that travels alone is printed too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

import hybrid_scheduler as hs

SCHEDULERS = ("hybrid_queue", "sjf")
LANES = 2
ALONE = 60.0
"""A call with a limit of its own travels alone."""
LONG, SHORT = (4, 0.4), (18, 0.05)
"""How many jobs of how many seconds."""


def noop(number: int) -> int:
    return number


def rate(executor: Executor, calls: int) -> float:
    """Calls per second, after the executor is warm."""
    list(executor.map(noop, range(20)))
    began = time.perf_counter()
    for future in [executor.submit(noop, number) for number in range(calls)]:
        future.result()
    return calls / (time.perf_counter() - began)


def ray_rate(calls: int) -> float:
    """Bare actors of the cluster that runs, each with one call in flight."""
    import ray

    @ray.remote(num_cpus=0)  # type: ignore[misc]
    class Actor:
        def call(self, number: int) -> int:
            return number

    actors = [Actor.remote() for _ in range(LANES)]
    ray.get([actor.call.remote(0) for actor in actors])
    began = time.perf_counter()
    running = {actor.call.remote(number): actor for number, actor in enumerate(actors)}
    left = calls - len(running)
    while running:
        done, _ = ray.wait(list(running), num_returns=1)
        for reference in done:
            actor = running.pop(reference)
            ray.get(reference)
            if left > 0:
                left -= 1
                running[actor.call.remote(left)] = actor
    took = time.perf_counter() - began
    for actor in actors:
        ray.kill(actor)
    return calls / took


def overhead(node: str, calls: int, repetitions: int) -> dict[str, float]:
    """Print rates; gives the ratios of the medians to the bare one."""
    bare, alone, ours = list[float](), list[float](), {name: list[float]() for name in SCHEDULERS}
    decisions = {name: list[float]() for name in SCHEDULERS}
    for _ in range(repetitions):
        if node == "machine":
            with ProcessPoolExecutor(LANES) as pool:
                bare.append(rate(pool, calls))
        for name in SCHEDULERS:
            with hs.Executor(name, node, lanes=LANES, remember=False) as executor:
                ours[name].append(rate(executor, calls))
                decisions[name].append(executor.stats().decision_seconds)
                if node == "ray" and name == SCHEDULERS[0]:
                    bare.append(ray_rate(calls))
        with hs.Executor(SCHEDULERS[0], node, lanes=LANES, remember=False, limit=ALONE) as executor:
            alone.append(rate(executor, calls))
    what = "ProcessPoolExecutor" if node == "machine" else "bare Ray actors"
    print(f"{calls} functions that do nothing, {LANES} lanes, medians of {repetitions} runs")
    print(f"{what:24} {statistics.median(bare):8.0f} per second")
    ratios = {name: statistics.median(ours[name]) / statistics.median(bare) for name in SCHEDULERS}
    for name in SCHEDULERS:
        per_second, micros = statistics.median(ours[name]), 1e6 * statistics.median(decisions[name])
        print(f"{name:24} {per_second:8.0f} per second, {ratios[name]:.2f} of that; {micros:.0f} µs a decision")
    per_second, label = statistics.median(alone), f"{SCHEDULERS[0]}, each alone"
    print(f"{label:24} {per_second:8.0f} per second, {per_second / statistics.median(bare):.2f} of that")
    return ratios


def response_and_makespan(executor: hs.Executor) -> tuple[float, float]:
    """Mean response time and makespan of the long jobs ahead of the short ones, all there at once."""
    for _, seconds in (LONG, SHORT):  # two for each lane: the first call in a process is not measured
        for future in [executor.submit(time.sleep, seconds, kind=f"sleep {seconds}") for _ in range(2 * LANES)]:
            future.result()
    began, ends = time.perf_counter(), list[float]()
    futures = []
    for count, seconds in (LONG, SHORT):
        for _ in range(count):
            future = executor.submit(time.sleep, seconds, kind=f"sleep {seconds}")
            future.add_done_callback(lambda _: ends.append(time.perf_counter() - began))
            futures.append(future)
    for future in futures:
        future.result()
    return statistics.mean(ends), max(ends)


def order(node: str) -> None:
    """Print what the order is worth."""
    print(f"\n{LONG[0]} jobs of {LONG[1]} s ahead of {SHORT[0]} of {SHORT[1]} s")
    first: tuple[float, float] | None = None
    for name in ("fcfs", *SCHEDULERS):
        with hs.Executor(name, node, lanes=LANES, remember=False) as executor:
            response, makespan = response_and_makespan(executor)
        first = first or (response, makespan)
        print(
            f"{name:24} mean response {response:.3f} s ({response / first[0]:.2f} of fcfs), "
            f"makespan {makespan:.3f} s ({makespan / first[1]:.2f})"
        )


def main(arguments: list[str] | None = None, say: Callable[..., Any] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ray", action="store_true", help="on a Ray cluster that is started here")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args(arguments)
    node = "ray" if options.ray else "machine"
    ratios = overhead(node, options.calls, options.repetitions)
    wanted = 0.8 if options.ray else 0.5
    say(f"wanted: at least {wanted}; {'met' if min(ratios.values()) >= wanted else 'NOT met'}")
    order(node)


if __name__ == "__main__":
    main()
