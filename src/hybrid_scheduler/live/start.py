"""How the live race begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hybrid_scheduler.config import Config

SIMULATED, MACHINE = NODES = ("simulated", "machine")
"""What a race can run on."""


@dataclass(frozen=True)
class LiveStart:
    """What the command line says about the live race; None: what the configuration or the default says.

    Attributes:
        config: Node, physics, workload and parameters of the schedulers.
        schedulers: Names of the schedulers that race.
        preset: Where tasks come from.
        trace: A file of tasks in any registered format, raced in a loop.
        rate: Tasks per simulated second.
        load: The same as a share of the node's capacity.
        speed: Simulated seconds per second of the clock.
        seed: Same seed, same tasks.
        format: The format of the trace; recognised by content unless given.
        cluster: YAML file that describes the devices, as `hms calibrate` writes one.
        node: `simulated`, or `machine`: real work on this machine.
        lanes: How many lanes of the machine share its cores; as `find_lanes` says by default.
    """

    config: Config
    schedulers: tuple[str, ...] | None = None
    preset: str | None = None
    trace: Path | None = None
    rate: float | None = None
    load: float | None = None
    speed: float | None = None
    seed: int | None = None
    format: str | None = None
    cluster: Path | None = None
    node: str = SIMULATED
    lanes: int | None = None
