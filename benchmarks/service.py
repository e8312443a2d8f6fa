"""What the service stands, against real servers on this machine.

    python benchmarks/service.py [flat-out] [feed] [rss] [start] [history] [--results 1000000]

flat-out: tasks per second of the live engine with store and feed on, against batch races of the same schedulers.
feed: 200 WebSocket clients at 10 Hz, 3 of which read nothing: from the engine to each client, and GET /api/status.
rss: resident set size of both processes over 100 000 tasks.
start: from the command to the first update of a running race, twice.
history: GET /api/history/comparative with a long history, on SQLite and PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
from store import SCHEDULERS, batch_of, postgresql, sqlite
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from hybrid_scheduler.config import Config
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.store import open_store
from hybrid_scheduler.training.pretrained import load_pretrained

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / part) for part in (".", "live")]
from live_service import LIGHT, LiveService, until  # noqa: E402  (the servers are those of the tests)

SIX = ("--schedulers", ",".join(SCHEDULERS))


@contextmanager
def served(*options: str, database: str | None = None, **environment: str) -> Iterator[LiveService]:
    with tempfile.TemporaryDirectory(prefix="hms-") as folder:
        url = database or f"sqlite+aiosqlite:///{folder}/store.db"
        service = LiveService(Path(folder), url, *options, LOG_LEVEL="WARNING", **environment)
        try:
            yield service
        finally:
            service.close()


def line(what: str, found: str, wanted: str, good: bool) -> None:
    print(f"  {what:<52} {found:>22}   {wanted:<18} {'ok' if good else 'MISSED'}", flush=True)


# --- flat out -----------------------------------------------------------------------------------------------------


class Pace(NamedTuple):
    """Tasks per second of the clock, and processor seconds per task."""

    rate: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.rate:,.0f} tasks/s ({self.cpu * 1e6:,.0f} us of processor a task)"


def batch_rate(tasks: int) -> Pace:
    """A batch race of the default schedulers, all learning on."""
    plan = Plan.of(LiveStart(Config()))
    arrived = plan.source(0.0).until(np.inf, tasks, 0)
    assert arrived is not None
    schedulers = {name: plan.build(name) for name in SCHEDULERS}
    for scheduler in schedulers.values():
        if isinstance(scheduler, Learner):
            load_pretrained(scheduler, plan.world)
    began, used = time.perf_counter(), time.process_time()
    race = Race(arrived.tasks, plan.world, seed=plan.seed)
    for scheduler in schedulers.values():
        race.run(scheduler)
    return Pace(tasks / (time.perf_counter() - began), (time.process_time() - used) / tasks)


def live_rate(service: LiveService, seconds: float) -> Pace:
    """The live race flat out; what it has not stored yet is bounded."""
    service.control("resume")
    until(lambda: service.status()["store"]["stored_tasks"] > 0, "tasks")
    before, began, used = _finished_now(service), time.perf_counter(), _processor_seconds(service.engine_id)
    time.sleep(seconds)
    after, ended, used_then = _finished_now(service), time.perf_counter(), _processor_seconds(service.engine_id)
    service.control("pause")
    until(lambda: service.status()["store"]["waiting_tasks"] == 0, "an empty queue")
    return Pace((after - before) / (ended - began), (used_then - used) / (after - before))


def _processor_seconds(process: int | None) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _finished_now(service: LiveService) -> int:
    told = service.status()["tasks_processed"]
    # Told twice a second: wait for the moment it changes.
    return int(until(lambda: (now := service.status()["tasks_processed"]) != told and now, "progress"))


def flat_out(rounds: int, seconds: float) -> None:
    print("flat out, six schedulers learning, store and feed on")
    batch_rate(300)
    live, batch = [], []
    with served(*SIX) as service:
        service.start()
        with _watched(service):
            service.change(flat_out=True)
            live_rate(service, 1.0)
            for number in range(rounds):
                live.append(live_rate(service, seconds))
                batch.append(batch_rate(3000))
                print(f"  round {number + 1}: live {live[-1]}, batch {batch[-1]}", flush=True)
        service.end()
        service.check_whole(SCHEDULERS)
    ratio = statistics.median(a.rate / b.rate for a, b in zip(live, batch, strict=True))
    line("live against batch, tasks/s, median of the rounds", f"{ratio:.0%}", "80 % or more", ratio >= 0.8)
    # Beside other work the clock says how much of the machine was left over; processor time does not.
    ratio = statistics.median(b.cpu / a.cpu for a, b in zip(live, batch, strict=True))
    line("the same by processor time, all threads", f"{ratio:.0%}", "80 % or more", ratio >= 0.8)


@contextmanager
def _watched(service: LiveService) -> Iterator[None]:
    """One client that reads everything, so that the feed has somebody to feed."""
    done = threading.Event()

    async def watch() -> None:
        while not done.is_set():
            try:
                async with connect(_websocket(service)) as socket:
                    while not done.is_set():
                        await asyncio.wait_for(socket.recv(), 1.0)
            except (OSError, TimeoutError, ConnectionClosed):
                await asyncio.sleep(0.2)

    thread = threading.Thread(target=lambda: asyncio.run(watch()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(5)


def _websocket(service: LiveService) -> str:
    return f"{str(service.client.base_url).rstrip('/').replace('http', 'ws')}/ws"


# --- the feed -----------------------------------------------------------------------------------------------------


async def _listen(socket: ClientConnection, late: list[float], until_then: float) -> None:
    """Note how old the engine's log lines are when they come; they are sent with every update."""
    while time.monotonic() < until_then:
        try:
            text = str(await asyncio.wait_for(socket.recv(), 1.0))
        except TimeoutError:
            continue
        except ConnectionClosed:
            return
        if '"log"' in text[:40]:
            late.append(time.time() - json.loads(text)["time"])


async def _crowd(service: LiveService, clients: int, deaf: int, seconds: float) -> tuple[list[float], list[float]]:
    late: list[float] = []
    async with AsyncExitStack() as stack:
        for number in range(clients):
            # One that reads nothing: its buffers are small and full at once.
            queue = 1 if number < deaf else 64
            socket = await stack.enter_async_context(connect(_websocket(service), max_queue=queue, close_timeout=0.1))
            if number >= deaf:
                stack.callback(asyncio.create_task(_listen(socket, late, time.monotonic() + 1e9)).cancel)
        # In an interpreter of its own: this one is busy with the crowd, and its pauses are none of the service's.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            ask, address = asyncio.get_running_loop().run_in_executor, str(service.client.base_url)
            await ask(other, _ask_status, address, 0.1)
            late.clear()
            asked = await ask(other, _ask_status, address, seconds)
            return list(late), asked


def _ask_status(address: str, seconds: float) -> list[float]:
    found, ends = [], time.monotonic() + seconds
    with httpx.Client(base_url=address) as client:
        client.get("/api/status")
        while time.monotonic() < ends:
            began = time.perf_counter()
            client.get("/api/status").raise_for_status()
            found.append(time.perf_counter() - began)
            time.sleep(0.02)
    return found


def feed(seconds: float) -> None:
    print("the live feed: 200 clients at 10 Hz, 3 of them read nothing")
    with served(*SIX, UPDATE_HZ="10") as service:
        service.start()
        late, asked = asyncio.run(_crowd(service, 200, 3, seconds))
        rate = len(late) / seconds / 197
        line("updates a second at each client", f"{rate:.1f}", "10", rate > 9)
        for what, found, limit in (("delivery", late, 0.25), ("GET /api/status", asked, 0.025)):
            middle, high = np.percentile(found, [50, 99])
            shown = f"{middle * 1e3:.1f} / {high * 1e3:.1f} ms"
            line(f"{what}, median / p99 of {len(found):,}", shown, f"p99 < {limit * 1e3:g} ms", high < limit)


# --- rss, start, history ------------------------------------------------------------------------------------------


def rss(tasks: int) -> None:
    print(f"resident set size over {tasks:,} tasks ({', '.join(LIGHT)}, flat out)")
    with served() as service:
        service.start()
        service.change(flat_out=True)
        sizes = []
        for part in range(1, 6):
            until(lambda part=part: _processed(service) >= part * tasks // 5, "tasks", 600.0)  # type: ignore[misc]
            sizes.append([_megabytes(process) for process in (service.engine_id, service.process_id)])
            print(
                f"  {_processed(service):>9,} tasks: engine {sizes[-1][0]:.0f} MB, server {sizes[-1][1]:.0f} MB",
                flush=True,
            )
        grown = max(last - early for last, early in zip(sizes[-1], sizes[1], strict=True))
        line("growth from two fifths to the end", f"{grown:+.1f} MB", "below 20 MB", grown < 20)


def _processed(service: LiveService) -> int:
    return int(service.status()["tasks_processed"])


def _megabytes(process: int | None) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


async def _first_update(service: LiveService) -> dict[str, Any]:
    async with asyncio.timeout(60), connect(_websocket(service)) as socket:
        while True:
            message: dict[str, Any] = json.loads(await socket.recv())
            if message["type"] == "simulation_update" and message["state"] == "running":
                return message


def start() -> None:
    print("from the command to the first update of a running race (default schedulers)")
    with served(*SIX) as service:
        for what, limit in (("first start", 10.0), ("second start", 5.0)):
            began = time.monotonic()
            service.start(running=False)
            listening = time.monotonic() - began
            asyncio.run(_first_update(service))
            took = time.monotonic() - began
            used = [_processor_seconds(each) for each in (service.process_id, service.engine_id)]
            line(f"{what} (port after {listening:.1f} s)", f"{took:.1f} s", f"below {limit:g} s", took < limit)
            # The two load side by side: on an idle machine with two cores it takes about as long as the longer.
            print(f"    processor seconds: server {used[0]:.1f}, engine {used[1]:.1f}")
            service.end()


async def _fill(url: str, results: int) -> None:
    async with await open_store(url) as store:
        run = await store.begin_run("compare", seed=1, configuration={}, schedulers=SCHEDULERS, reserve=10**9)
        for first in range(0, results // len(SCHEDULERS), 1000):
            await store.write(batch_of(run, first))
        await store.end_run(run.id, "finished")


def history(results: int) -> None:
    for name, started in (("SQLite", sqlite), ("PostgreSQL", postgresql)):
        print(f"{name}, {results:,} results: GET /api/history/comparative?limit=100")
        with started() as url, served(database=url) as service:
            asyncio.run(_fill(url, results))
            service.start()
            middle = max(service.stored()) // 2
            service.control("stop")
            for what, question in (("newest", {"limit": 100}), ("middle", {"limit": 100, "before": middle})):
                seconds = []
                for _ in range(21):
                    began = time.perf_counter()
                    service.client.get("/api/history/comparative", params=question).raise_for_status()
                    seconds.append(time.perf_counter() - began)
                shown = f"{statistics.median(seconds[1:]) * 1e3:.1f} / {max(seconds[1:]) * 1e3:.1f} ms"
                line(f"{what}, median / worst of 20", shown, "< 50 ms", statistics.median(seconds[1:]) < 0.05)


def main() -> None:
    """Measure what is named, or everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known: dict[str, Callable[[argparse.Namespace], None]] = {
        "flat-out": lambda asked: flat_out(asked.rounds, asked.seconds),
        "feed": lambda asked: feed(asked.seconds),
        "rss": lambda asked: rss(asked.tasks),
        "start": lambda asked: start(),
        "history": lambda asked: history(asked.results),
    }
    parser.add_argument("what", nargs="*", choices=[*known, []], help="default: everything")
    parser.add_argument("--results", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args()
    for name in asked.what or known:
        known[name](asked)


if __name__ == "__main__":
    main()
