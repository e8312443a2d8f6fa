"""Choose the learners' constants on seeds and nodes that no benchmark, claim or packaged model uses.

    python benchmarks/tuning.py                          # the forests' congestion price: some minutes on one core
    python benchmarks/tuning.py --parts learning_rate    # the agent's learning rate: an hour
    python benchmarks/tuning.py --json -

Every candidate races the same tasks: on the default node at three loads (seeds 5000 to 5019) and on random nodes in
three bands of load (seeds 5100 to 5159). Learners are trained on other tasks of the same node and care for time alone.
The table has mean response and its 99th percentile over the oracle's, as geometric means. Candidates are ranked by mean
response times p99 to the power 0.2, so that no tail pays for a mean; the last column is that over the best candidate's,
paired by race, with its 95 % interval. The present value stays unless it is shown to be behind by a hundredth or more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from multiprocessing import get_context

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.experiments.order import BANDS, LOADS
from hybrid_scheduler.experiments.statistics import Estimate, estimate
from hybrid_scheduler.scenario import Load, PresetTasks, Scenario
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.train import train_scheduler

DEFAULT_SEEDS = range(5000, 5020)
NODE_SEEDS = range(5100, 5160)
TASKS, WARMUP = 8000, 1000
TAIL = 0.2
"""The power of the 99th percentile in what candidates are ranked by."""
WORTH_CHANGING = 0.01
"""Share of that below which a better value is no reason to move every figure."""


@dataclass(frozen=True)
class Constant:
    """A constant of a learner.

    Attributes:
        scheduler: Who has it. The forests share their price: the one that learns nothing on the way stands for both.
        parameter: What it is called.
        tried: Values to try beside the one in force.
        train_tasks: How many tasks a learner is trained on before it is judged.
        every: Of the races, one in so many is run; all where learning is quick.
    """

    scheduler: str
    parameter: str
    tried: tuple[float, ...]
    train_tasks: int
    every: int = 1

    @property
    def present(self) -> float:
        """The value in force."""
        return float(create_scheduler(self.scheduler).parameters()[self.parameter])

    @property
    def candidates(self) -> list[float]:
        """All values, in order."""
        return sorted({*self.tried, self.present})


CONSTANTS = {
    "congestion": Constant("static_forest", "congestion", (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0), 5000),
    "learning_rate": Constant("rl_agent", "learning_rate", (1e-4, 3e-4, 1e-3, 3e-3), 10_000, every=8),
}


def scenarios() -> Iterator[tuple[str, Scenario]]:
    """Every race, with the group it belongs to."""
    for seed in DEFAULT_SEEDS:
        for load in LOADS:
            yield (
                f"load {load}",
                Scenario(PresetTasks(), num_tasks=TASKS, arrivals=Load(load), seed=seed, warmup=WARMUP),
            )
    for number, seed in enumerate(NODE_SEEDS):
        band = BANDS[number % len(BANDS)]
        yield f"nodes {band.name}", band.scenario(seed, TASKS, WARMUP)


def race(constant: Constant, scenario: Scenario) -> list[tuple[float, float]]:
    """Mean response and its 99th percentile over the oracle's, for every candidate."""
    arena = Race(scenario.batch(), scenario.world, seed=scenario.seed, warmup=scenario.warmup)

    def figures(scheduler: Scheduler) -> tuple[float, float]:
        response = arena.counted(arena.run(scheduler)).response_time
        return float(response.mean()), float(np.percentile(response, 99))

    training, oracle, found = scenario.training(constant.train_tasks), figures(create_scheduler("oracle")), []
    for value in constant.candidates:
        chosen = {constant.parameter: value, "energy_weight": 0.0}
        scheduler = create_scheduler(constant.scheduler, scenario.seed, **chosen)
        train_scheduler(scheduler, training)
        mean, p99 = figures(scheduler)
        found.append((mean / oracle[0], p99 / oracle[1]))
    return found


@dataclass(frozen=True)
class Candidate:
    """What came of one value.

    Attributes:
        value: The value.
        groups: Mean response over the oracle's, geometric means by group of races.
        mean: The same of all races.
        p99: The 99th percentile over the oracle's, of all races.
        over_best: What candidates are ranked by, over the best one's, less 1, with its interval over the races.
    """

    value: float
    groups: dict[str, float]
    mean: float
    p99: float
    over_best: Estimate


def candidates(constant: Constant, groups: Sequence[str], ratios: np.ndarray) -> list[Candidate]:
    """The table; `ratios` by race, candidate, and mean or p99."""
    logs, tails = np.log(ratios[..., 0]), np.log(ratios[..., 1])
    scores = logs + TAIL * tails
    best = int(scores.mean(axis=0).argmin())
    found = []
    for column, value in enumerate(constant.candidates):
        paired = estimate((scores[:, column] - scores[:, best]).tolist())
        by_group = {
            group: float(np.exp(logs[[each == group for each in groups], column].mean()))
            for group in dict.fromkeys(groups)
        }
        mean, p99 = (float(np.exp(each[:, column].mean())) for each in (logs, tails))
        found.append(Candidate(value, by_group, mean, p99, _as_shares(paired)))
    return found


def _as_shares(paired: Estimate) -> Estimate:
    low, high = (None if end is None else float(np.expm1(end)) for end in (paired.low, paired.high))
    return Estimate(float(np.expm1(paired.mean)), low, high, ())


def chosen(constant: Constant, found: Sequence[Candidate]) -> tuple[float, str]:
    """The value to take, and why."""
    best = min(found, key=lambda each: each.over_best.mean)
    present = next(each for each in found if each.value == constant.present)
    behind = present.over_best
    if present is best:
        return present.value, "the present value is the best"
    if behind.low is None or behind.low <= 0 or behind.mean < WORTH_CHANGING:
        return present.value, f"the present value is {behind.mean:.2%} behind {best.value:g}, not worth moving figures"
    return best.value, f"the present value {present.value:g} is {behind.mean:.2%} behind"


def show(name: str, constant: Constant, found: Sequence[Candidate]) -> None:
    heads = list(found[0].groups)
    print(f"\n{constant.scheduler}: {name}, now {constant.present:g}; mean response over the oracle's")
    print(f"{'value':>8}" + "".join(f"{head:>18}" for head in heads) + f"{'all':>8}{'p99':>8}{'over the best':>15}")
    for each in found:
        low, high = each.over_best.low, each.over_best.high
        ends = "" if low is None or high is None else f" [{low:+.2%}, {high:+.2%}]"
        cells = "".join(f"{each.groups[head]:>18.4f}" for head in heads)
        print(f"{each.value:>8g}{cells}{each.mean:>8.4f}{each.p99:>8.4f}{each.over_best.mean:>+15.2%}{ends}")


def main() -> int:
    """Race, print, say which."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="congestion", help=f"comma-separated, of {', '.join(CONSTANTS)}")
    parser.add_argument("--jobs", type=int, default=1, help="races at a time")
    parser.add_argument("--json", metavar="-", choices=["-"], help="a document on standard output")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(CONSTANTS):
        parser.error(f"there is no constant {sorted(unknown)[0]!r}; there are {', '.join(CONSTANTS)}")
    document = {}
    standard_output = sys.stdout
    with (
        redirect_stdout(sys.stderr if options.json else sys.stdout),
        ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool,
    ):
        for name in parts:
            constant = CONSTANTS[name]
            groups, races = zip(*list(scenarios())[:: constant.every], strict=True)
            ratios = np.array(list(pool.map(race, [constant] * len(races), races)))
            found = candidates(constant, groups, ratios)
            value, why = chosen(constant, found)
            show(name, constant, found)
            print(f"take {value:g}: {why}", flush=True)
            table = [asdict(each) for each in found]
            document[name] = {"present": constant.present, "take": value, "why": why, "candidates": table}
    if options.json:
        standard_output.write(json.dumps(document, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
