"""A machine whose times are known: every operation moves its clock by a known amount."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hybrid_scheduler.hardware import Backend, ProfiledMachine


@dataclass
class Clock:
    """Time passes only when something works, or is waited for."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Block:
    home: str
    rows: int
    columns: int


@dataclass(eq=False)
class MadeUpDevice(Backend):
    """Products at `flops`, copies at `bandwidth` bytes a second after `latency`; pinned memory at twice the bandwidth.

    An accelerator starts work and returns at once: time passes in `synchronize`. Whoever forgets that measures zero.
    """

    clock: Clock
    kind: str = "cpu"
    flops: float = 1e9
    bandwidth: float = 1e9
    latency: float = 0.0
    name: str = "made up"
    memory_mb: float | None = None
    pins_memory: bool = False
    pending: float = 0.0
    asked_for: list[str] = field(default_factory=list)

    def _work(self, seconds: float) -> None:
        self.pending += seconds
        if self.kind == "cpu":
            self.synchronize()

    def allocate(self, rows: int, columns: int) -> Block:
        return Block(self.kind, rows, columns)

    def allocate_pinned(self, rows: int, columns: int) -> Block:
        assert self.pins_memory
        return Block("pinned", rows, columns)

    def fill(self, buffer: Block, seed: int) -> None:
        self.asked_for.append(f"fill {buffer.home}")

    def multiply(self, left: Block, right: Block, out: Block) -> None:
        assert {left.home, right.home, out.home} == {self.kind}
        assert (left.columns, out.rows, out.columns) == (right.rows, left.rows, right.columns)
        self._work(2 * left.rows * left.columns * right.columns / self.flops)

    def copy(self, source: Block, target: Block) -> None:
        assert (source.rows, source.columns) == (target.rows, target.columns)
        assert self.kind in (source.home, target.home)
        speed = self.bandwidth * (2 if "pinned" in (source.home, target.home) else 1)
        self._work(self.latency + 4 * source.rows * source.columns / speed)

    def synchronize(self) -> None:
        self.clock.now += self.pending
        self.pending = 0.0


@dataclass(eq=False)
class MadeUpMachine(ProfiledMachine):
    """Two threads, of whose time `share` is really theirs."""

    clock: Clock
    cpu: MadeUpDevice
    accelerator: MadeUpDevice | None = None
    note: str | None = None
    share: float = 1.0
    held: list[int | None] = field(default_factory=list)
    let_go: int = 0

    @contextmanager
    def held_steady(self, threads: int | None) -> Iterator[None]:
        self.held.append(threads)
        try:
            yield
        finally:
            self.let_go += 1

    def threads(self) -> int:
        return 2

    def processor_seconds(self) -> float:
        return self.clock.now * 2 * self.share

    def describe(self) -> dict[str, object]:
        return {"cpu": self.cpu.name, "threads": 2}


def made_up(*, accelerator: bool = True, kind: str = "cuda", share: float = 1.0, **figures: float) -> MadeUpMachine:
    """CPU: 1 GFLOP/s, 4 GB/s; accelerator: 8 GFLOP/s, 2 GB/s (pinned 4), unless `figures` say otherwise."""
    clock = Clock()
    device: dict[str, Any] = {"flops": 8e9, "bandwidth": 2e9, "latency": 1e-5, **figures}
    return MadeUpMachine(
        clock,
        MadeUpDevice(clock, bandwidth=4e9, name="abacus"),
        MadeUpDevice(clock, kind, name="loom", pins_memory=kind == "cuda", memory_mb=8000.0, **device)
        if accelerator
        else None,
        None if accelerator else "no accelerator: made up without one",
        share,
    )
