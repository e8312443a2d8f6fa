"""What the service survives: `kill -9` twenty times in a row on each database, and PostgreSQL stopped for a while.

    python benchmarks/killing.py [--kills 20] [--outage 30] [--only sqlite|postgresql|outage|random]
    python benchmarks/killing.py --only random --random 1000 --folder DIR      # goes on where it was interrupted

In the middle of a flat-out run with tasks being submitted, in turn the server and its engine are killed. Every restart
must come up by itself; in the end no task may have fewer results than schedulers, none may be there twice, ids must go
on, and every task that was accepted must be in the history. Then both are killed at random moments, whatever they do.
What fails is an AssertionError.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from store import postgresql, sqlite

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / part) for part in (".", "live")]
from killing_rounds import Submitter, check_history, survive  # noqa: E402  (the same as in the tests)
from live_service import LiveService, until  # noqa: E402
from random_kills import kill_at_random  # noqa: E402
from stoppable_postgres import StoppablePostgres  # noqa: E402


def kill_often(name: str, url: str, kills: int) -> None:
    with tempfile.TemporaryDirectory(prefix="hms-") as folder:
        service = LiveService(Path(folder), url)
        try:
            submitter, slowest = Submitter(service.start()), 0.0
            for number in range(kills):
                began = time.monotonic()
                survive(service, submitter, "server" if number % 2 == 0 else "engine")
                slowest = max(slowest, time.monotonic() - began)
            service.end()
            check_history(service, submitter, kills)
            stored, accepted = len(service.stored()), len(submitter.accepted)
        finally:
            service.close()
    print(
        f"{name}: {kills} kills survived; {stored:,} tasks stored, all whole, all {accepted:,} accepted ones among "
        f"them; slowest round {slowest:.1f} s",
        flush=True,
    )


def outage(seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="hms-postgres-") as folder, tempfile.TemporaryDirectory() as own:
        postgres, service = StoppablePostgres(Path(folder)), None
        try:
            service = LiveService(Path(own), postgres.url).start()
            service.change(flat_out=True)
            submitter = Submitter(service)
            with submitter.busy():
                service.wait_for_tasks(1000)
                until(lambda: submitter.accepted, "an accepted task")
                postgres.stop()
                service.wait_for("waiting_for_store")
                time.sleep(seconds)
                waiting = service.status()["store"]["waiting_tasks"]
                assert service.client.get("/api/health").status_code == 503
                before = service.status()["store"]["stored_tasks"]
                postgres.start()
                began = time.monotonic()
                service.wait_for("running")
                back = time.monotonic() - began
                service.wait_for_tasks(before + waiting + 1000)
            assert service.status()["run"]["id"] == 1
            service.end()
            tasks = service.check_whole()
            assert sorted(tasks) == list(range(len(tasks))), "a gap"
            assert set(submitter.accepted) <= set(tasks)
        finally:
            if service is not None:
                service.close()
            postgres.close()
    print(
        f"PostgreSQL stopped for {seconds:g} s: {waiting:,} tasks waited, the race went on {back:.1f} s after it came "
        f"back; {len(tasks):,} tasks stored without a gap, all {len(submitter.accepted):,} accepted ones among them",
        flush=True,
    )


def main() -> None:
    """Kill, stop, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--outage", type=float, default=30.0)
    parser.add_argument("--random", type=int, default=50, help="kills at random moments")
    parser.add_argument("--folder", type=Path, help="where those are kept, to go on with another time")
    parser.add_argument("--only", choices=["sqlite", "postgresql", "outage", "random"])
    asked = parser.parse_args()
    for name, started in (("SQLite", sqlite), ("PostgreSQL", postgresql)):
        if asked.only in (None, name.lower()):
            with started() as url:
                kill_often(name, url, asked.kills)
    if asked.only in (None, "outage"):
        outage(asked.outage)
    if asked.only in (None, "random"):
        with tempfile.TemporaryDirectory(prefix="hms-") as own:
            folder = asked.folder or Path(own)
            folder.mkdir(parents=True, exist_ok=True)
            print(kill_at_random(folder, asked.random), flush=True)


if __name__ == "__main__":
    main()
