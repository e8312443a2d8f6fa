"""What README says about speed, measured anew on few tasks: no claim may be far from what this machine does.

Ratios of two loops in one process, interleaved, best of three, hardly depend on the machine; a noisy one is allowed for
by `SLACK`. `python benchmarks/simulator.py` is the measurement itself.
"""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import hybrid_scheduler as hs
from hybrid_scheduler.workloads import WorkloadGenerator

ROOT = Path(__file__).resolve().parents[2]
README = " ".join((ROOT / "README.md").read_text("utf-8").split())
SLACK = 4.0
FEW = 10_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def benchmark() -> Any:
    found = spec_from_file_location("simulator_benchmark", ROOT / "benchmarks" / "simulator.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _claimed(pattern: str) -> list[float]:
    match = re.search(pattern, README)
    assert match is not None, f"README says nothing like {pattern!r} any more"
    return [float(figure) for figure in match.groups()]


def test_against_simpy(benchmark: Any) -> None:
    alone, together = _claimed(r"(\d+) times SimPy \((\d+) times with dependencies\)")
    for claimed, probability in ((alone, 0.0), (together, 0.75)):
        best = benchmark.duel(FEW, probability)
        assert best["simpy"] / best["ours"] > claimed / SLACK


def test_shortest_job_first(benchmark: Any) -> None:
    same, plain = _claimed(
        r"`sjf` is (\d+) times as fast as the same rule in SimPy, and (\d+) times as fast as the plainest"
    )
    mine, by_rule, plainly = benchmark.waiting_duel(FEW, 0.8)
    assert by_rule / mine > same / SLACK
    assert plainly / mine > plain / SLACK


def test_a_whole_comparison(benchmark: Any) -> None:
    assert "a million tasks, statistics and bounds included, takes a twentieth of SimPy's loop alone" in README
    hs.compare(["mct"], rate=8.0, tasks=FEW, seed=1)  # compiles outside the clock
    ours = hs.compare(["mct"], rate=8.0, tasks=10 * FEW, seed=1).to_json()["wall_seconds"]
    tasks = WorkloadGenerator(1).generate("mixed", FEW, 8.0)
    times = benchmark.World().timed(tasks).nominal
    assert 10.0 * benchmark.in_simpy(tasks, times)[0] / ours > 20.0 / SLACK
