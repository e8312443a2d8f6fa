"""Measuring kernels on this machine's devices, through the lanes on which they will run.

What a node in front of lanes sees is measured: the time a lane is occupied, of which the kernel's own run is a part and
sending, preparing and reporting are the rest. Every lane is measured twice: alone, and while all others are busy with
kernels too, since lanes share memory, caches and links. Where tasks can be split, half of each kernel is timed too: it
takes more than half the time, by what every part pays whatever its share.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import median, stdev
from typing import TYPE_CHECKING, Final

from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine, Together
from hybrid_scheduler.hardware.lane_bench import Kernel, LaneBench, Sample, WorkOf
from hybrid_scheduler.hardware.nodes.lanes import Lanes
from hybrid_scheduler.hardware.nodes.power import Meter
from hybrid_scheduler.hardware.timing import ENOUGH_SECONDS
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.workloads.kernel_kinds import kernel_kind
from hybrid_scheduler.workloads.kernel_preset import KERNEL_SIZES

if TYPE_CHECKING:
    from hybrid_scheduler.hardware import kernels

OTHERS_BUSY: Final = 0.7
"""Where lanes slow each other down, they are taken to be busy for this share of the time: moderate to high load."""
FEWEST_REPEATS: Final = 5
POWER_SECONDS: Final = 1.0
"""For so long a kernel runs over and over while its power is measured: counters tick some ten times a second."""
HALF: Final = 0.5
PHASES: Final = ("alone", "beside")
Progress = Callable[[str, int], None]


def check_sizes(sizes: Sequence[int]) -> list[int]:
    """The sizes to measure, ascending.

    Raises:
        InvalidInputError: There are fewer than two, one is out of range, or one comes twice.
    """
    if len(set(sizes)) < 2 or len(set(sizes)) != len(sizes):
        raise InvalidInputError(f"sizes are {list(sizes)}, but at least two different ones are needed, each once")
    for size in sizes:
        if not KERNEL_SIZES.holds(size):
            raise InvalidInputError(f"size {size} must be {KERNEL_SIZES}")
    return sorted(sizes)


@dataclass
class Calibration:
    """What to measure.

    Attributes:
        lanes: The lanes; nobody else uses them meanwhile.
        kinds: Which kernels.
        sizes: At least two sizes.
        work_of: Makes the work of a kernel.
        meters: For each lane what measures its idle device's energy; None where nothing does.
        repeats: Runs of each kernel of each size; fewer, but at least five, when they take long.
        seed: Of the data, and of the order in which kernels run beside others.
        progress: Told of each of `PHASES` and how many of its rounds are done, `repeats` and one.
    """

    lanes: Lanes
    kinds: Sequence[str]
    sizes: Sequence[int]
    work_of: WorkOf
    meters: Sequence[Meter | None] = ()
    repeats: int = 11
    seed: int = 0
    progress: Progress = lambda phase, rounds: None

    def __post_init__(self) -> None:
        self.kinds = [kernel_kind(kind).name for kind in self.kinds]
        self.sizes = check_sizes(self.sizes)
        self._bench = LaneBench(self.lanes, self.work_of, self.seed)
        self._devices = self.lanes.cluster.devices
        self._chance = random.Random(self.seed)

    def run(self) -> CalibratedMachine:
        """Measure everything.

        Raises:
            LaneError: A lane was lost.
            InvalidInputError: A kernel raised an error or was too large.
        """
        self._bench.wait_until_up()
        idle = [self._idle_watts(lane) for lane in range(len(self._devices))]
        alone, halves = self._alone()
        beside = self._beside(alone) if len(self._devices) > 1 else {}
        measurements = [
            self._measurement(lane, kernel, samples, beside.get((lane, kernel), []))
            for lane, found in alone.items()
            for kernel, samples in found.items()
        ]
        measurements = self._with_every_part(measurements, halves)
        watts = {self._devices[lane].name: (self._busy_watts(lane), idle[lane]) for lane in alone}
        memory = {d.name: d.memory_mb for d in self._devices if d.kind == "gpu"}
        busy = OTHERS_BUSY if beside else 0.0
        return CalibratedMachine.of(
            measurements, self.lanes.cluster, watts, memory, self._together(measurements, halves, busy), busy
        )

    def _kernels(self, lane: int) -> list[Kernel]:
        return [Kernel(kind, size) for kind in self.kinds if self._bench.runs(lane, kind) for size in self.sizes]

    def _alone(self) -> tuple[dict[int, dict[Kernel, list[Sample]]], dict[tuple[int, Kernel], float]]:
        """Every kernel on every lane while the others are idle; a first round does not count.

        Lanes take turns and kernels come in an order of chance: no lane is measured at a worse time than another, and
        none finds its data in a cache more often than in a stream of tasks. Halves are among them, so that both are
        measured alike.

        Returns:
            The samples of whole kernels by lane; and by lane and whole kernel for how many seconds its half occupies
            the lane, where tasks can be split.
        """
        found: dict[int, dict[Kernel, list[Sample]]] = {
            lane: {kernel: [] for whole in self._kernels(lane) for kernel in (whole, *self._half(lane, whole))}
            for lane in range(len(self._devices))
        }
        for number in range(self.repeats + 1):
            for lane, kernels in found.items():
                order = [kernel for kernel, samples in kernels.items() if not _enough(samples)]
                self._chance.shuffle(order)
                for sample in self._bench.samples({lane: iter(order)}):
                    if number:
                        kernels[sample.kernel].append(sample)
            self.progress("alone", number + 1)
        halves = {
            (lane, Kernel(kernel.kind, kernel.size)): median(s.occupied for s in samples)
            for lane, kernels in found.items()
            for kernel, samples in kernels.items()
            if kernel.share < 1.0
        }
        wholes = {
            lane: {k: samples for k, samples in kernels.items() if k.share == 1.0} for lane, kernels in found.items()
        }
        return wholes, halves

    def _half(self, lane: int, kernel: Kernel) -> tuple[Kernel, ...]:
        """The half of a kernel that a lane gets of a split; nothing where there are none."""
        pair = self._pair()
        if pair is None or lane not in pair or not self._bench.divisible(kernel.kind):
            return ()
        return (replace(kernel, begin=pair.index(lane) * HALF, share=HALF),)

    def _all(self, lane: int, kernels: Iterator[Kernel], samples: list[Sample]) -> None:
        """Samples of kernels one after the other, each in the list before the next kernel is asked for."""
        for sample in self._bench.samples({lane: kernels}):
            samples.append(sample)  # noqa: PERF402 (a list is extended only when all is over)

    def _beside(self, alone: dict[int, dict[Kernel, list[Sample]]]) -> dict[tuple[int, Kernel], list[Sample]]:
        """Every kernel on every lane while the others run kernels too, in an order of chance."""
        orders: dict[int, list[Kernel]] = {}
        for lane, kernels in alone.items():
            orders[lane] = [kernel for kernel, samples in kernels.items() for _ in samples]
            self._chance.shuffle(orders[lane])
        unfinished = {lane for lane, order in orders.items() if order}

        def kept_busy(lane: int) -> Iterator[Kernel]:
            yield from orders[lane]
            unfinished.discard(lane)
            while unfinished:  # it is a neighbour of those that have not ended
                yield self._chance.choice(orders[lane])

        found: dict[tuple[int, Kernel], list[Sample]] = {}
        for sample in self._bench.samples({lane: kept_busy(lane) for lane in sorted(unfinished)}):
            if unfinished:
                found.setdefault((sample.lane, sample.kernel), []).append(sample)
        self.progress("beside", self.repeats + 1)
        return found

    def _measurement(self, lane: int, kernel: Kernel, alone: list[Sample], beside: list[Sample]) -> Measurement:
        run, moved = median(s.run for s in alone), median(s.transfer for s in alone)
        occupied = median(s.occupied for s in alone)
        slowdown = median(s.occupied for s in beside) / occupied - 1.0 if beside else 0.0
        return Measurement(
            kernel.kind,
            kernel.size,
            self._devices[lane].name,
            max(occupied - run, 0.0),
            max(run - moved, 0.0),
            moved,
            _scatter([s.occupied for s in alone]),
            max(slowdown, 0.0),
        )

    def _busy_watts(self, lane: int) -> float:
        """Joules a second while a lane is kept busy, the median over kernels at their largest."""

        def keep_busy(kernel: Kernel) -> None:
            samples: list[Sample] = []
            self._all(lane, _for_a_while(kernel, samples), samples)

        found = []
        for kind in self.kinds if self._meter(lane) else ():
            if self._bench.runs(lane, kind):
                kernel = Kernel(kind, self.sizes[-1])
                self._all(lane, iter([kernel]), [])  # its data is made before the power counts
                found.append(self._watts(lane, partial(keep_busy, kernel)))
        told = [watts for watts in found if not math.isnan(watts)]
        return median(told) if told else math.nan

    def _meter(self, lane: int) -> Meter | None:
        return self.meters[lane] if lane < len(self.meters) else None

    def _idle_watts(self, lane: int) -> float:
        return self._watts(lane, lambda: self.lanes.wait(POWER_SECONDS))

    def _watts(self, lane: int, meanwhile: Callable[[], object]) -> float:
        """The power of a lane's device meanwhile; not a number where the machine does not tell."""
        meter = self._meter(lane)
        if meter is None:
            return math.nan
        try:
            before, since = meter.read(), self.lanes.clock()
            meanwhile()
            return meter.between(before, meter.read()) / (self.lanes.clock() - since)
        except OSError:  # the counter is gone: the machine does not tell
            return math.nan

    def _pair(self) -> tuple[int, int] | None:
        """A CPU and a GPU of one node, if tasks can be split between any."""
        return next(
            (
                (cpu, gpu)
                for gpu, there in enumerate(self._devices)
                for cpu, here in enumerate(self._devices)
                if (here.kind, there.kind) == ("cpu", "gpu") and here.node == there.node
            ),
            None,
        )

    def _with_every_part(
        self, measurements: Sequence[Measurement], halves: dict[tuple[int, Kernel], float]
    ) -> list[Measurement]:
        """With what every part pays, where half of a kernel was timed: as much as two halves take more than the whole.

        Lanes of the same hardware are taken to be alike.
        """
        hardware = dict(zip(self.lanes.cluster.names, self.lanes.hardware, strict=True))
        timed = {
            (kernel.kind, kernel.size, self.lanes.hardware[lane]): seconds for (lane, kernel), seconds in halves.items()
        }
        found = []
        for m in measurements:
            half = timed.get((m.kind, int(m.size), hardware[m.device]))
            more = 0.0 if half is None else min(max(2.0 * half - m.seconds, m.launch), m.seconds)
            found.append(replace(m, every_part=more))
        return found

    def _together(
        self, measurements: Sequence[Measurement], halves: dict[tuple[int, Kernel], float], others_busy: float
    ) -> Together | None:
        """Halves of kernels on a CPU and a GPU of one node at the same time, over the longer of both as predicted."""
        pair = self._pair()
        if pair is None:
            return None
        slowdown = {(m.kind, m.size, m.device): 1.0 + others_busy * m.slowdown for m in measurements}
        stretches = []
        for lane, kernel in halves:
            if lane != pair[0] or (pair[1], kernel) not in halves:
                continue
            apart = [
                halves[each, kernel] * slowdown[kernel.kind, kernel.size, self._devices[each].name] for each in pair
            ]
            both = {each: replace(kernel, begin=place * HALF, share=HALF) for place, each in enumerate(pair)}
            rounds = [self._round(both) for _ in range(FEWEST_REPEATS)]
            stretches.append(median(rounds) / max(apart) - 1.0)
        return Together(tuple(stretches)) if stretches else None

    def _round(self, halves: dict[int, Kernel]) -> float:
        """Seconds until both halves have ended."""
        return max(s.occupied for s in self._bench.samples({lane: iter([half]) for lane, half in halves.items()}))


@contextmanager
def calibrated_lanes(
    kinds: Sequence[str], sizes: Sequence[int], cpu_lanes: int | None = None, seed: int = 0
) -> Iterator[Calibration]:
    """The calibration of this machine's lanes (`find_lanes`), which are there meanwhile.

    On an accelerator every kernel's result is compared with the CPU's first.
    """
    from hybrid_scheduler.hardware.nodes.kernel_work import KernelWarmUp, KernelWork
    from hybrid_scheduler.hardware.nodes.machine import find_lanes
    from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes

    smallest = min(check_sizes(sizes))
    warm_up = KernelWarmUp.of(KernelWork(kind, smallest, seed) for kind in kinds)
    lanes = find_lanes(cpu_lanes, for_pytorch=True, warm_up=warm_up)
    try:
        meters = [slot.meter for slot in lanes.slots]
        yield Calibration(ReusedLanes(lanes), kinds, sizes, KernelWork, meters, seed=seed)
    finally:
        lanes.close()


def check_forms(kernel: kernels.Kernel, size: int, accelerator: str, seed: int) -> None:
    """Refuse a kernel whose result on the accelerator is not the CPU's, to the precision of float32."""
    import torch

    data = kernel.make(size, torch.Generator().manual_seed(seed))
    here = kernel.run(*data)
    there = kernel.run(*(tensor.to(accelerator) for tensor in data)).cpu()
    if not torch.allclose(here, there, rtol=1e-3, atol=1e-3 * float(here.abs().max())):
        raise InvalidInputError(
            f"{kernel.kind} of size {size} gives another result on {accelerator} than on the CPU; "
            "its times would be of other work"
        )


def _enough(samples: Sequence[Sample]) -> bool:
    """Whether a kernel takes so long that its few runs tell enough."""
    return len(samples) >= FEWEST_REPEATS and sum(s.occupied for s in samples) >= ENOUGH_SECONDS


def _for_a_while(kernel: Kernel, samples: Sequence[Sample]) -> Iterator[Kernel]:
    """This kernel over and over, until its samples last long enough to measure its power."""
    while sum(s.occupied for s in samples) < POWER_SECONDS:
        yield kernel


def _scatter(seconds: Sequence[float]) -> float:
    return stdev(map(math.log, seconds)) if len(seconds) > 1 and min(seconds) > 0 else 0.0
