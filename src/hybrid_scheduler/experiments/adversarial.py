"""`adversarial`: the node and the workload on which one scheduler does worst against another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import ClassVar

import numpy as np
import pandas as pd

from hybrid_scheduler.engine.compare import Comparison
from hybrid_scheduler.experiments.base import Record, Unit
from hybrid_scheduler.experiments.figures import figure_info
from hybrid_scheduler.experiments.racing import Racing
from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.experiments.statistics import estimate
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.cost import FormulaCost
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.scenario import Scenario
from hybrid_scheduler.scenario.instances import LENGTH, Instance
from hybrid_scheduler.schedulers.registry import scheduler_class
from hybrid_scheduler.workloads.csv_trace import write_csv

SEARCH = "search"
METRICS = ("avg_response", "makespan", "p99_response")
SECONDS = 600.0
RANDOM, PARENTS, CHILDREN = 16, 6, 8
"""Random instances a search starts from, how many live on, and children of a generation."""
MIXED, CHANGED, STEPS = 0.4, 3, (0.02, 0.3)
"""How often a child has two parents, about how many of its numbers change, and by how much at least and at most."""
REDRAWN = 10
"""Other draws of the worst mix: whether the mix is hard or only that one stream of tasks."""
TRACE, NODE, REPLAY, TABLE = "worst.csv", "worst.yaml", "replay.sh", "search.csv"


@dataclass(frozen=True, kw_only=True)
class Adversarial(Racing):
    """Evolves nodes and workloads on which `scheduler` does worst against `against`, by the ratio of `metric`.

    Comparing schedulers on the worst instance that can be found instead of the average one is the idea of PISA
    (Coleman and Krishnamachari, "PISA: An Adversarial Approach To Comparing Task Graph Scheduling Algorithms", IPDPS
    2025, arXiv:2403.07120), which anneals task graphs. Here a (mu + lambda) evolution strategy (Beyer and Schwefel,
    "Evolution strategies", Natural Computing 1, 2002) changes the devices, the mix of up to three classes of
    independent tasks, the load and the bursts, within ranges that are stated (`scenario.instances`): loads are at most
    0.9 of what a perfect assignment of these very tasks could do, and every task fits into every GPU.

    Every seed is a search of its own, from its own random instances; the worst of all is stored as a trace, a cluster
    file and the command that replays it. Learners start as in `hms compare`, from packaged models where those fit the
    node, and care for time alone; the first fifth of the tasks does not count. With `generations` the same seed gives
    the same bits; a search by `seconds` says how many generations it had time for.

    Attributes:
        scheduler: Whose weak spots are searched for.
        against: Whom it is measured by.
        metric: `avg_response`, `makespan` or `p99_response`.
        seconds: For each search; 600 unless `generations` is given.
        generations: How many generations each search has, instead of `seconds`.
    """

    name: ClassVar[str] = "adversarial"
    question: ClassVar[str] = "On which node and workload does a scheduler do worst against another?"
    schedulers: ClassVar[tuple[str, ...]] = ("hybrid_queue", "mct")
    subjects: ClassVar[tuple[str, ...]] = ("hybrid_queue",)
    compared: ClassVar[tuple[str, ...]] = METRICS[:1]
    shown: ClassVar[tuple[str, ...]] = (*METRICS, "gpu_share", "overloaded")
    plots: ClassVar[tuple[str, ...]] = ("search",)
    default_seeds: ClassVar[int] = 2
    default_parameters: ClassVar[Mapping[str, object]] = {"energy_weight": 0.0}

    tasks: int = 500
    train_tasks: int = 0
    scheduler: str = "hybrid_queue"
    against: str = "mct"
    metric: str = METRICS[0]
    seconds: float | None = None
    generations: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (self.scheduler, self.against):
            scheduler_class(name)
        if self.scheduler == self.against:
            raise InvalidInputError(f"scheduler and against are both {self.scheduler!r}; name two")
        if self.metric not in METRICS:
            raise UnknownNameError("metric of the search", self.metric, METRICS)
        if self.seconds is not None and self.generations is not None:
            raise InvalidInputError(
                f"seconds ({self.seconds:g}) and generations ({self.generations}) both say when to stop; leave one out"
            )
        if not isinstance(self.world.physics.cost, FormulaCost):
            raise InvalidInputError("a table has times for its own tasks only, so there is nothing to vary")
        # Who takes part is a choice here, not a fact of the class.
        for key, value in {
            "schedulers": (self.scheduler, self.against),
            "subjects": (self.scheduler,),
            "compared": (self.metric,),
            "seconds": SECONDS if self.seconds is None and self.generations is None else self.seconds,
        }.items():
            object.__setattr__(self, key, value)

    def pairs(self) -> Sequence[tuple[str, str]]:
        """None: the instances were chosen for their difference, so a test of it would say nothing."""
        return ()

    def run(self, unit: Unit) -> Record:
        """One search, and a race on the worst instance it found."""
        rng = np.random.default_rng([unit.seed, *b"evolve"])
        began = perf_counter()

        def enough(generation: int) -> bool:
            if self.generations is not None:
                return generation >= self.generations
            return self.seconds is not None and perf_counter() - began >= self.seconds

        def ratio(genes: FloatArray) -> float:
            return self._ratio(genes, unit.seed, unit.seed)

        genes, ratios, generations = evolve(ratio, rng, enough, self._tell(unit))
        streams = np.random.default_rng([unit.seed, *b"redrawn"]).integers(0, 2**31, REDRAWN)
        redrawn = np.array([self._ratio(genes, unit.seed, int(stream)) for stream in streams])
        scenario = self._scenario(genes, unit.seed)
        contestants = {name: self.entrant(name, unit.seed, scenario.world) for name in self.schedulers}
        record = self.race(unit, contestants, scenario)
        own, other = (record.figures[name][self.metric] for name in self.schedulers)
        found = {
            "ratio": own / other,
            "random_ratio": float(np.median(ratios[:RANDOM])),
            "redrawn_ratio": float(redrawn.mean()),
            "load": float(scenario.load or 0.0),
            "evaluations": float(len(ratios)),
            "generations": float(generations),
        }
        samples = {SEARCH: {"ratio": ratios, "redrawn": redrawn, "genes": genes}}
        return replace(record, figures={**record.figures, SEARCH: found}, samples=samples)

    def _tell(self, unit: Unit) -> Callable[[int, int, float], None]:
        def tell(generation: int, evaluations: int, worst: float) -> None:
            words = f"{self.scheduler} takes {worst:.3f} times the {self._words} of {self.against}"
            unit.say(f"seed {unit.seed}, generation {generation}, {evaluations} instances: {words}")

        return tell

    @property
    def _words(self) -> str:
        return figure_info(self.metric).title

    def _scenario(self, genes: FloatArray, stream: int) -> Scenario:
        return Instance.of(genes, self.world.physics).scenario(stream, self.tasks, self.tasks // 5)

    def _ratio(self, genes: FloatArray, seed: int, stream: int) -> float:
        """How many times the other's figure the scheduler's is, on tasks drawn from `stream`."""
        scenario = self._scenario(genes, stream)
        contestants = {name: self.entrant(name, seed, scenario.world) for name in self.schedulers}
        comparison = Comparison(scenario.batch(), contestants, scenario.world, seed, warmup=scenario.warmup)
        own, other = (found.metrics[self.metric] for found in comparison.run().schedulers.values())
        assert isinstance(own, float), "every task fits, so every task finishes"
        assert isinstance(other, float)
        return own / other

    def configuration(self) -> dict[str, object]:
        """What was searched, and until when; the node is the search's own."""
        limit = {"seconds": self.seconds} if self.generations is None else {"generations": self.generations}
        options = {"scheduler": self.scheduler, "against": self.against, "metric": self.metric, **limit}
        return {**super().configuration(), "cluster": {**self.world.facts(), "devices": []}, "options": options}

    def facts(self) -> dict[str, object]:
        """How learners start."""
        start = (
            "learners continue from the models in the package where those fit the node, else they start from nothing"
        )
        return {"start": start, "warmup": self.tasks // 5}

    def findings(self, points: Sequence[PointResult]) -> dict[str, object]:
        """The worst instance of all seeds."""
        record = _worst(points[0].records)
        found, (own, other) = record.figures[SEARCH], (record.figures[n][self.metric] for n in self.schedulers)
        redrawn = estimate(record.samples[SEARCH]["redrawn"].tolist())
        words = Instance.of(record.samples[SEARCH]["genes"], self.world.physics).words()
        unit = figure_info(self.metric).symbol
        replay, repeat = self._replay(record.seed), self._repeat(record)
        return {
            "worst": {
                "seed": record.seed,
                "ratio": found["ratio"],
                "values": {self.scheduler: own, self.against: other},
                "redrawn": redrawn.to_json(),
                "random": found["random_ratio"],
                "generations": int(found["generations"]),
                "evaluations": int(found["evaluations"]),
                "instance": words,
                "replay": replay,
                "repeat": repeat,
            },
            "remarks": [
                f"Worst of {int(found['evaluations'])} instances: {self._words} of {self.scheduler} {own:.4g} {unit}, "
                f"of {self.against} {other:.4g} {unit}, {found['ratio']:.3f} times. Median of random instances: "
                f"{found['random_ratio']:.3f} times. The worst mix in {REDRAWN} other draws: {redrawn.mean:.3f} times "
                f"[{redrawn.low:.3f}, {redrawn.high:.3f}].",
                f"The instance: {words}.",
                f"Replay it in the folder of the run: {replay}",
                f"Find it again: {repeat}",
            ],
        }

    def _repeat(self, record: Record) -> str:
        generations = int(record.figures[SEARCH]["generations"])
        return (
            f"hms experiment {self.name} --scheduler {self.scheduler} --against {self.against} --metric {self.metric} "
            f"--generations {generations} --seeds 1 --seed {record.seed} --tasks {self.tasks}{self._physics()}"
        )

    def _replay(self, seed: int) -> str:
        return (
            f"hms compare --trace {TRACE} --cluster {NODE} --schedulers {self.scheduler},{self.against} "
            f"--energy-weight 0 --warmup {self.tasks // 5} --seed {seed}{self._physics()}"
        )

    def _physics(self) -> str:
        split = self.world.physics.split
        return "" if split == Physics().split else f" --split {split}"

    def write_files(self, records: Sequence[Record], folder: Path) -> list[Path]:
        """The worst instance as a trace and a cluster file, the command that replays it, and every ratio tried."""
        record = _worst(records)
        scenario = self._scenario(record.samples[SEARCH]["genes"], record.seed)
        trace, node, replay, table = (folder / name for name in (TRACE, NODE, REPLAY, TABLE))
        write_csv(trace, scenario.batch())
        node.write_text(_cluster(scenario), encoding="utf-8")
        command = f'cd "$(dirname "$0")" && exec {self._replay(record.seed)} "$@"'
        replay.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
        rows = [
            {"seed": each.seed, "evaluation": k, "ratio": ratio, "worst": worst}
            for each in records
            for k, (ratio, worst) in enumerate(_tried(each), start=1)
        ]
        pd.DataFrame(rows).to_csv(table, index=False, lineterminator="\n")
        return [trace, node, replay, table]


def evolve(
    fitness: Callable[[FloatArray], float],
    rng: np.random.Generator,
    enough: Callable[[int], bool],
    tell: Callable[[int, int, float], None],
) -> tuple[FloatArray, FloatArray, int]:
    """A (mu + lambda) evolution strategy: parents live on until something fitter comes.

    Args:
        fitness: What is to be large, of `LENGTH` numbers from 0 to 1.
        rng: Decides everything that is drawn.
        enough: Asked with the number of generations before the next one.
        tell: Told generation, evaluations and the largest fitness whenever that has grown.

    Returns:
        The fittest, every fitness in the order of evaluation, and how many generations there were.
    """
    alive = [(fitness(genes), genes) for genes in rng.random((RANDOM, LENGTH))]
    seen, generation, told = [value for value, _ in alive], 0, -np.inf
    while True:
        alive = sorted(alive, key=lambda each: -each[0])[:PARENTS]
        if alive[0][0] > told:
            told = alive[0][0]
            tell(generation, len(seen), told)
        if enough(generation):
            return alive[0][1], np.array(seen), generation
        children = [_child([genes for _, genes in alive], rng) for _ in range(CHILDREN)]
        born = [(fitness(genes), genes) for genes in children]
        seen += [value for value, _ in born]
        alive += born
        generation += 1


def _child(parents: list[FloatArray], rng: np.random.Generator) -> FloatArray:
    """Of one parent or two, with some numbers changed; what leaves the range comes back in."""
    one, other = (parents[k] for k in rng.integers(0, len(parents), 2))
    genes: FloatArray = np.where(rng.random(LENGTH) < 0.5, one, other) if rng.random() < MIXED else one.copy()
    changed = rng.random(LENGTH) < CHANGED / LENGTH
    changed[rng.integers(0, LENGTH)] = True
    step = np.exp(rng.uniform(*np.log(STEPS)))
    genes[changed] += step * rng.standard_normal(int(changed.sum()))
    return 1.0 - np.abs(1.0 - np.abs(genes) % 2.0)


def _worst(records: Sequence[Record]) -> Record:
    return max(records, key=lambda record: record.figures[SEARCH]["ratio"])


def _tried(record: Record) -> list[tuple[float, float]]:
    """Every ratio, and the largest so far."""
    ratios = record.samples[SEARCH]["ratio"]
    return list(zip(ratios.tolist(), np.maximum.accumulate(ratios).tolist(), strict=True))


def _cluster(scenario: Scenario) -> str:
    """The node as a file that `--cluster` reads."""
    lines = ["devices:"]
    for device in scenario.world.cluster.devices:
        keys = ("speed",) if device.kind == "cpu" else ("speed", "memory_mb", "bandwidth")
        figures = ", ".join(f"{key}: {getattr(device, key)!r}" for key in keys)
        lines.append(f"  - {{name: {device.name}, kind: {device.kind}, {figures}}}")
    return "\n".join(lines) + "\n"
