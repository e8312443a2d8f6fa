"""What a machine was measured to do: times per size, transfers, and what follows from them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hybrid_scheduler.hardware.timing import Timing
from hybrid_scheduler.model.errors import InvalidInputError


def suggested_fraction(ratio: float) -> float:
    """The share of a task for the GPU so that both parts end together: r / (1 + r); 0 when `ratio` is not a number."""
    return 0.0 if math.isnan(ratio) else ratio / (1.0 + ratio)


@dataclass(frozen=True)
class SizeProfile:
    """The product of two float32 matrices of `size` rows and columns.

    Attributes:
        size: Rows and columns.
        cpu: On the CPU.
        gpu: On the accelerator, its operands already there, until the product is there.
        gpu_end_to_end: Upload of both factors, product, download of the product, in one go.
        upload: Both factors from the host's ordinary memory.
        download: The product into the host's ordinary memory.
    """

    size: int
    cpu: Timing
    gpu: Timing | None = None
    gpu_end_to_end: Timing | None = None
    upload: Timing | None = None
    download: Timing | None = None

    @property
    def cpu_gpu_ratio(self) -> float:
        """CPU time / GPU time, transfers left out; above 1 the GPU is faster; not a number without a GPU."""
        return _ratio(self.cpu, self.gpu)

    @property
    def end_to_end_ratio(self) -> float:
        """CPU time / GPU time with transfers."""
        return _ratio(self.cpu, self.gpu_end_to_end)

    @property
    def gpu_fraction(self) -> float:
        """The suggested share for the GPU."""
        return suggested_fraction(self.cpu_gpu_ratio)

    def to_json(self) -> dict[str, object]:
        """Medians in seconds under their own names, the spread of each under `timings`."""
        timings = {
            "cpu": self.cpu,
            "gpu": self.gpu,
            "gpu_end_to_end": self.gpu_end_to_end,
            "upload": self.upload,
            "download": self.download,
        }
        return {
            "size": self.size,
            **{f"{name}_seconds": None if timing is None else timing.median for name, timing in timings.items()},
            "cpu_gpu_ratio": _or_null(self.cpu_gpu_ratio),
            "end_to_end_ratio": _or_null(self.end_to_end_ratio),
            "gpu_fraction": self.gpu_fraction,
            "timings": {name: timing.to_json() for name, timing in timings.items() if timing is not None},
        }


@dataclass(frozen=True)
class Transfer:
    """Copies of one direction (`host_to_host`, `host_to_device`, `device_to_host`).

    Attributes:
        direction: From where to where.
        memory: The host's side: `pageable` (ordinary) or `pinned` (page-locked).
        megabytes: Size of the large copy, in 10⁶ bytes.
        large: The large copy.
        latency: The smallest copy possible, one number.
    """

    direction: str
    memory: str
    megabytes: float
    large: Timing
    latency: Timing

    @property
    def mb_per_second(self) -> float:
        """Bandwidth of the large copy, its latency included, as a user would see it."""
        return self.megabytes / self.large.median

    def to_json(self) -> dict[str, object]:
        """The bandwidth and what it was computed from."""
        return {
            "mb_per_second": self.mb_per_second,
            "latency_seconds": self.latency.median,
            "megabytes": self.megabytes,
            "timings": {"large": self.large.to_json(), "latency": self.latency.to_json()},
        }


@dataclass(frozen=True)
class HardwareProfile(Mapping[str, Any]):
    """All that was measured; ``profile["cpu_gpu_ratio"]`` is ``profile.cpu_gpu_ratio``, and so for every attribute.

    Attributes:
        machine: Facts about the machine.
        accelerator: `kind`, `name` and `memory_mb` of the accelerator; None without one.
        note: Why there is no accelerator; None when there is one.
        cpu_share: Share of the time the CPU's threads ran while they were measured, at best 1.
        warning: What makes the figures doubtful; None when nothing does.
        sizes: One entry per size.
        transfers: One entry per direction and kind of host memory.
        settings: What the profiler was asked for.
        wall_seconds: How long it took.
    """

    machine: Mapping[str, object]
    accelerator: Mapping[str, object] | None
    note: str | None
    cpu_share: float
    warning: str | None
    sizes: tuple[SizeProfile, ...]
    transfers: tuple[Transfer, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    wall_seconds: float = 0.0

    @property
    def cpu_gpu_ratio(self) -> float:
        """The geometric mean over sizes, so that 4 times faster and 4 times slower balance.

        Not a number without a GPU.
        """
        return _geometric_mean([timing.cpu_gpu_ratio for timing in self.sizes])

    @property
    def end_to_end_ratio(self) -> float:
        """The same with transfers."""
        return _geometric_mean([timing.end_to_end_ratio for timing in self.sizes])

    @property
    def gpu_fraction(self) -> float:
        """The suggested share for the GPU, 0 without one."""
        return suggested_fraction(self.cpu_gpu_ratio)

    def __getitem__(self, name: str) -> Any:
        if name not in iter(self):
            raise KeyError(f"a profile has no {name!r}, only {', '.join(self)}")
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        yield from ("cpu_gpu_ratio", "end_to_end_ratio", "gpu_fraction")
        yield from (known.name for known in fields(self))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def to_json(self) -> dict[str, object]:
        """The profile as a document; times in seconds, bandwidths in MB (10⁶ bytes) per second."""
        bandwidth: dict[str, dict[str, object]] = {}
        for transfer in self.transfers:
            bandwidth.setdefault(transfer.direction, {})[transfer.memory] = transfer.to_json()
        return {
            **self.settings,
            "machine": dict(self.machine),
            "accelerator": None if self.accelerator is None else dict(self.accelerator),
            "note": self.note,
            "warning": self.warning,
            "cpu_share": self.cpu_share,
            "cpu_gpu_ratio": _or_null(self.cpu_gpu_ratio),
            "end_to_end_ratio": _or_null(self.end_to_end_ratio),
            "gpu_fraction": self.gpu_fraction,
            "sizes": [timing.to_json() for timing in self.sizes],
            "bandwidth": bandwidth,
            "wall_seconds": self.wall_seconds,
        }

    def save(self, path: str | Path) -> Path:
        """Write the document as JSON, making folders on the way.

        Raises:
            InvalidInputError: The file cannot be written.
        """
        target = Path(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise InvalidInputError(f"{target}: the file cannot be written: {error.strerror or error}") from error
        return target


def _ratio(cpu: Timing, gpu: Timing | None) -> float:
    return math.nan if gpu is None else cpu.median / gpu.median


def _or_null(ratio: float) -> float | None:
    """JSON has no "not a number"."""
    return None if math.isnan(ratio) else ratio


def _geometric_mean(ratios: list[float]) -> float:
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known else math.nan
