"""Attacks by tasks, settings and schedulers: whatever is sent, the race goes on."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from live_service import LiveService, until
from prometheus_client.parser import text_string_to_metric_families

from hybrid_scheduler.model.ranges import FORMULA_SIZES, LOADS, MEGABYTES, RATES, SPEEDS, Range

EVERYBODY = "round_robin,random,greedy,hybrid_ml,rl_agent,oracle"
NASTY = (
    {"size": 1e-30, "compute_intensity": 0.5, "memory_required": 1e9},
    {"size": 1e-45, "compute_intensity": 0.5, "memory_required": 10.0},
    {"size": 1e-100, "compute_intensity": 0.5, "memory_required": 0.0},
    {"size": 2.36e-24, "compute_intensity": 0.5, "memory_required": 1e9},
    {"size": 1e9, "compute_intensity": 1.0, "memory_required": 0.0},
    {"size": 1e300, "compute_intensity": 0.0, "memory_required": 0.0},
)
WHOLE_RANGE = 5000
CLIENTS, POST_SECONDS, LEAST_RATE = 200, 6.0, 500.0


def check_nasty_tasks(folder: Path) -> str:
    """Tasks that once killed the engine for good are refused with the rule, and nothing dies of what is accepted."""
    with racing(folder) as live:
        for task in NASTY:
            answer = live.submit(**task)
            assert answer.status_code == 422, answer.text
            assert "size" in answer.json()["error"]["message"], answer.text
        for size in (FORMULA_SIZES.low, FORMULA_SIZES.high):
            for memory in (MEGABYTES.low, MEGABYTES.high):
                answer = live.submit(size=size, memory_required=memory)
                assert answer.status_code == 201, answer.text
        moves_on(live)
    return f"{len(NASTY)} refused, the ends of the ranges accepted, the race goes on"


def check_whole_ranges(folder: Path) -> str:
    """5000 tasks drawn from the whole accepted range of every field: no restart, nobody taken out, figures move on."""
    rng = random.Random(1)

    def drawn() -> dict[str, float]:
        return {
            "size": spread(rng, FORMULA_SIZES),
            "compute_intensity": rng.choice([0.0, 1.0, rng.random()]),
            "memory_required": rng.choice([0.0, spread(rng, Range(1e-3, MEGABYTES.high))]),
        }

    with racing(folder) as live:
        asyncio.run(post_all(live, iter([drawn() for _ in range(WHOLE_RANGE)]), clients=20))
        moves_on(live)
        given_up = sum(racer["given_up"] for racer in live.status()["schedulers"])
    return f"{WHOLE_RANGE} accepted, nobody out, {given_up} results given up because of tasks of years"


def check_one_huge_task(folder: Path) -> str:
    """A task of two years does not freeze the figures of the others."""
    with racing(folder) as live:
        assert live.submit(size=FORMULA_SIZES.high).status_code == 201
        live.change(speed=20.0)
        before = live.status()["tasks_processed"]
        until(lambda: live.status()["tasks_processed"] > before + 100, "100 more tasks")
        moves_on(live)
    return "100 tasks went past it"


def check_extreme_settings(folder: Path) -> str:
    """Settings at the ends of their ranges, one after the other, and beyond them."""
    changes: list[dict[str, Any]] = [{"load": 5e-324}, {"load": 1e300}, {"arrival_rate": 0.0}, {"speed": 1e-320}]
    with racing(folder) as live:
        for change in changes:
            refused = live.client.patch("/api/simulation/settings", json=change)
            assert refused.status_code == 422, refused.text
        for name, legal in (("load", LOADS), ("arrival_rate", RATES), ("speed", SPEEDS)):
            for value in (legal.low, legal.high, legal.low):
                live.change(**{name: value})
                time.sleep(0.2)
        live.change(load=0.05, speed=1.0)
        moves_on(live)
        live.change(load=LOADS.low, flat_out=True)
        time.sleep(2.0)
        live.change(load=0.05, speed=1.0)
        moves_on(live)
    return "the race goes on after every one of them"


def check_failing_schedulers(folder: Path) -> str:
    """Schedulers of another package that raise or decide nonsense are taken out; the race goes on without them."""
    packages = folder / "packages"
    broken = third_party(packages)
    with racing(folder, f"{','.join(broken)},mct,oracle", PYTHONPATH=str(packages)) as live:
        out = until(lambda: taken_out(live, len(broken)), "their being taken out")
        assert set(out) == set(broken), out
        moves_on(live)
        live.wait_for_tasks(20)
        rows = live.rows("SELECT scheduler_name, failed, reason FROM scheduler_results WHERE failed")
        assert {name for name, *_ in rows} <= set(broken)
        assert all(reason for *_, reason in rows), "a failed row without a reason"
    return f"{len(out)} taken out: " + "; ".join(sorted(reason.split(" (")[0] for reason in out.values()))


def check_quarantine(folder: Path) -> str:
    """A task that was in hand at two crashes in a row is stored as failed, with the reason, and not raced again."""
    with racing(folder) as live:
        live.control("pause")
        task = live.submit().json()["task"]["task_id"]
        for _ in range(2):
            run = live.status()["run"]["id"]
            live.kill_engine()
            until(lambda before=run: (live.status()["run"] or {"id": before})["id"] > before, "a run after the crash")
            live.control("pause")
        live.control("start")
        rows = until(lambda: live.rows(f"SELECT failed, reason FROM scheduler_results WHERE task_id = {task}"), "rows")
        assert all(failed and "crashed" in reason for failed, reason in rows), rows
        assert live.rows("SELECT count(*) FROM submitted_tasks") == [(0,)]
    return f"task {task}: {rows[0][1]}"


def check_posting_rate(folder: Path) -> str:
    """200 clients that post at once are answered at 500 a second or more."""
    with racing(folder) as live:
        asyncio.run(post_all(live, tasks_for(1.0), CLIENTS))  # what is used for the first time is compiled
        latencies = asyncio.run(post_all(live, tasks_for(POST_SECONDS), CLIENTS))
        stored = live.rows("SELECT (SELECT count(*) FROM submitted_tasks) + (SELECT count(*) FROM tasks)")[0][0]
        assert stored >= len(latencies), f"{stored} stored of {len(latencies)} accepted"
    rate = len(latencies) / POST_SECONDS
    assert rate >= LEAST_RATE, f"only {rate:.0f} a second"
    return f"{rate:.0f} a second, median {statistics.median(latencies) * 1e3:.0f} ms"


# --- help ------------------------------------------------------------------------------------------------------------


@contextmanager
def racing(folder: Path, schedulers: str = EVERYBODY, **environment: str) -> Iterator[LiveService]:
    """A service that has not restarted its engine when it ends; crashes that were asked for do not count here."""
    database = f"sqlite+aiosqlite:///{folder}/store.db"
    live = LiveService(folder / "live", database, "--schedulers", schedulers, **environment)
    try:
        yield live.start()
    finally:
        live.close()


def moves_on(live: LiveService, tasks: int = 5) -> None:
    """The engine was never restarted, nobody who should race is out, and tasks go on finishing."""
    assert metric(live, "hms_engine_restarts_total") == 0, live.log()
    before = live.status()["tasks_processed"]
    until(lambda: live.status()["tasks_processed"] >= before + tasks, f"{tasks} more tasks; {live.status()}")
    out = [r for r in live.status()["schedulers"] if r["state"] == "out" and not r["name"].startswith("broken")]
    assert not out, out


def metric(live: LiveService, name: str) -> float:
    families = text_string_to_metric_families(live.client.get("/api/metrics").text)
    return next(sample.value for family in families for sample in family.samples if sample.name == name)


def spread(rng: random.Random, legal: Range) -> float:
    """Every order of magnitude is as likely as every other."""
    value = legal.low * (legal.high / legal.low) ** rng.random()
    return min(max(value, legal.low), legal.high)


def taken_out(live: LiveService, count: int) -> dict[str, str]:
    found = {racer["name"]: racer["reason"] for racer in live.status()["schedulers"] if racer["state"] == "out"}
    return found if len(found) == count else {}


def third_party(packages: Path) -> list[str]:
    """A package whose schedulers fail in several ways; returns their names."""
    answers = {
        "raises": "raise ZeroDivisionError('broken')",
        "nothing": "return None",
        "nan": "return Decision.whole(0, float('nan'))",
        "unknown": "return Decision.whole(99)",
    }
    code = "from hybrid_scheduler.model import Decision\nfrom hybrid_scheduler.schedulers.base import Scheduler\n"
    for name, answer in answers.items():
        code += f"\n\nclass {name.title()}(Scheduler):\n    def decide(self, task, view):\n        {answer}\n"
    code += "\n\nclass Observes(Scheduler):\n    def decide(self, task, view):\n        return Decision.whole(0)\n"
    code += "\n    def observe(self, *what):\n        raise KeyError('broken')\n"
    names = [*answers, "observes"]
    info = packages / "broken_schedulers-1.dist-info"
    info.mkdir(parents=True)
    (packages / "broken_schedulers.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-schedulers\nVersion: 1\n")
    points = "".join(f"broken_{name} = broken_schedulers:{name.title()}\n" for name in names)
    (info / "entry_points.txt").write_text(f"[hybrid_scheduler.schedulers]\n{points}")
    return [f"broken_{name}" for name in names]


def tasks_for(seconds: float) -> Iterator[dict[str, float]]:
    """Ordinary tasks, for so long."""
    ends, rng = time.monotonic() + seconds, random.Random(1)
    while time.monotonic() < ends:
        yield {"size": rng.uniform(100, 2000), "compute_intensity": rng.random(), "memory_required": 20.0}


async def post_all(live: LiveService, tasks: Iterator[dict[str, float]], clients: int) -> list[float]:
    """Post tasks by several clients, each of which sends the next when the last is answered; seconds each took."""
    host, port = live.client.base_url.host, live.client.base_url.port
    latencies: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        for task in tasks:
            body = json.dumps(task).encode()
            head = f"POST /api/tasks HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            began = time.monotonic()
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length"))
            text = await reader.readexactly(int(length.split(b":")[1]))
            assert answer.startswith(b"HTTP/1.1 201"), text
            latencies.append(time.monotonic() - began)
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return latencies
