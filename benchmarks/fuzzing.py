"""Fuzzing a real service: 10 000 cases of schemathesis, stateful, without and with the calls that stop the race.

    python benchmarks/fuzzing.py [--cases 10000]

It counts only if every operation answered with a 2xx at least once (an early `stop` would have every task refused),
the engine was never restarted, and nothing failed. Exits non-zero otherwise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / part) for part in (".", "server", "live")]
from attacks.tasks import metric, racing  # noqa: E402
from fuzzing import fuzz  # type: ignore[attr-defined]  # noqa: E402  (that of the tests)
from live_service import LiveService, until  # noqa: E402

STANDING_STILL = ("/api/simulation/stop", "/api/simulation/pause", "/api/pause")
FORGETTING = ("/api/history",)
AT_ONCE = 150
"""Examples per operation of one run of schemathesis."""
SCHEDULERS = "greedy,hybrid_ml,rl_agent,oracle"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    wanted = parser.parse_args().cases
    failed = False
    for name, without in (("without stop and pause", (*STANDING_STILL, *FORGETTING)), ("with everything", ())):
        with tempfile.TemporaryDirectory(prefix="hms-fuzz-") as folder, racing(Path(folder), SCHEDULERS) as live:
            failed |= not fuzzed(name, live, without, wanted // 2)
    return int(failed)


def fuzzed(name: str, live: LiveService, without: tuple[str, ...], wanted: int) -> bool:
    """Fuzz until there were enough cases; says what came of it."""
    address, began = str(live.client.base_url).rstrip("/"), time.monotonic()
    untried: set[str] | None = None
    cases, seed, good = 0, 0, True
    while cases < wanted and good:
        seed += 1
        run_experiment(live)
        with started_again(live) if not without else nothing():
            result = fuzz(address, examples=AT_ONCE, seed=seed, without=without)
        untried = set(result.untried) if untried is None else untried & set(result.untried)
        cases += result.cases
        if not result.clean:
            good = False
            print(result.output)
        print(f"  {name}: {cases} cases, {time.monotonic() - began:.0f} s", flush=True)
    restarts = metric(live, "hms_engine_restarts_total")
    print(
        f"{name}: {cases} cases, {restarts:.0f} restarts, never answered with a 2xx: {sorted(untried or []) or 'none'}"
    )
    return good and not untried and restarts == 0


def run_experiment(live: LiveService) -> None:
    """There are files of a run to ask for only once an experiment has come to its end."""
    job = live.client.post("/api/experiments", json={"name": "mixed", "seeds": 1, "tasks": 10})
    if job.status_code == 202:
        address = f"/api/experiments/{job.json()['id']}"
        until(lambda: live.client.get(address).json()["state"] != "running", "the end of an experiment", 120.0)


@contextmanager
def started_again(live: LiveService) -> Iterator[None]:
    """Whoever stops the race finds it started again a moment later, so that tasks are accepted now and then."""
    done = threading.Event()

    def start() -> None:
        while not done.wait(0.3):
            live.control("start")

    thread = threading.Thread(target=start)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def nothing() -> Iterator[None]:
    yield


if __name__ == "__main__":
    sys.exit(main())
