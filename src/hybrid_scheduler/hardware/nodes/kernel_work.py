"""Kernels as work for lanes.

The data of a task exists before the task does, so it is made before the clock starts, and kept for the next task of the
same kind, size and seed. What counts is what calibration counts too: on a CPU the computation; on an accelerator also
the way of the data there, from pageable memory, and of the result back. All in float32, no shorter format instead.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Final

from hybrid_scheduler.hardware.nodes.lanes import Place, WholeWork, Work, WorkResult
from hybrid_scheduler.hardware.nodes.spare_memory import spare_bytes
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.workloads.kernel_kinds import kernel_kind

if TYPE_CHECKING:
    import torch

WARM_UP_SECONDS: Final = 60.0
SHARES: Final = (0.25, 0.5, 0.75)
"""An accelerator's library chooses its programs by the shape, and parts of a task have other shapes than the whole."""
KEPT_BYTES: Final = 1 << 30
"""How much data of earlier tasks a lane keeps in any case, and more while half of the memory is free. The latest task's
stays however large it is."""


@dataclass(frozen=True, slots=True)
class KernelWork(Work):
    """One task of a kernel. Its result stays in the lane: nobody waits for it.

    Attributes:
        kind: The kernel (`workloads.kernel_kinds`).
        size: Its N, from 1.
        seed: Where its data comes from.

    Raises:
        InvalidInputError: There is no such kernel, or the size is less than 1.
    """

    kind: str
    size: int
    seed: int = 0

    def __post_init__(self) -> None:
        kernel_kind(self.kind)
        if not (isinstance(self.size, int) and self.size >= 1):
            raise InvalidInputError(f"size of {self.kind} is {self.size}, but it must be a whole number from 1")

    @property
    def divisible(self) -> bool:
        """As its kernel is."""
        return kernel_kind(self.kind).divisible

    def runs_on(self, kind: str) -> bool:
        """Every kernel has a form for every kind of device."""
        return True

    def prepare(self, place: Place, begin: float, share: float) -> None:
        """Make the data, or find it, and start the device."""
        STORE.make_ready(self, begin, share)
        if place.kind == "gpu":
            _accelerator(place)

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Run the kernel, on an accelerator with the data's way there and the result's way back."""
        from hybrid_scheduler.hardware.kernels import KERNELS
        from hybrid_scheduler.hardware.torch_backend import plain_float32

        data = STORE.take(self, begin, share)
        kernel = KERNELS[self.kind]
        with plain_float32():
            if place.kind == "cpu":
                kernel.run(*data)
                return WorkResult(transfer=0.0)
            import torch

            accelerator = _accelerator(place)
            cuda = accelerator.type == "cuda"
            wait = torch.cuda.synchronize if cuda else torch.mps.synchronize
            if cuda:
                torch.cuda.reset_peak_memory_stats()
            started = monotonic()
            there = tuple(tensor.to(accelerator) for tensor in data)
            wait()
            uploaded = monotonic()
            result = kernel.run(*there)
            wait()
            computed = monotonic()
            STORE.fetch(result)
            ended = monotonic()
            transfer = uploaded - started + ended - computed
            if cuda:
                return WorkResult(transfer=transfer, memory_mb=torch.cuda.max_memory_allocated() / 1e6)
            return WorkResult(transfer=transfer)


@dataclass(frozen=True, slots=True)
class KernelWarmUp(WholeWork):
    """What a lane runs before it is up: every kind and size once, so that no task pays for a kernel's first call.

    Loading PyTorch and starting the device are done then, too. On an accelerator the result of every kind is compared
    with the CPU's, and parts of what can be split run as well. After `WARM_UP_SECONDS`, what is left is left out: that
    is large, and its first call matters little.

    Attributes:
        works: The tasks to expect, in this order.
    """

    works: tuple[KernelWork, ...]

    @classmethod
    def of(cls, works: Iterable[KernelWork]) -> KernelWarmUp:
        """For these tasks: each kind and size once, the smallest of every kind first."""
        once = {(work.kind, work.size): work for work in works}
        ordered, seen = [], Counter[str]()
        for kind, size in sorted(once):
            ordered.append((seen[kind], once[kind, size]))
            seen[kind] += 1
        ordered.sort(key=lambda ranked: ranked[0])
        return cls(tuple(work for _, work in ordered))

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Run each.

        Raises:
            InvalidInputError: A kernel gives another result on the accelerator than on the CPU, or PyTorch has none.
        """
        seen = set()
        end = monotonic() + WARM_UP_SECONDS
        for work in self.works:
            if work.kind in seen and monotonic() > end:
                continue
            if place.kind == "gpu" and work.kind not in seen:
                _check(work, place)
            seen.add(work.kind)
            in_parts = place.kind == "gpu" and work.divisible and work.size * min(SHARES) >= 1.0
            for part in (1.0, *(SHARES if in_parts else ())):
                work.prepare(place, 0.0, part)
                work.run(place, 0.0, part)
        return WorkResult()


class _Store:
    """The data of a lane's tasks: what is ready for the next one, and what earlier ones left.

    Args:
        limit: How many bytes of earlier ones in any case.
        spare: How many more there is memory for.
    """

    def __init__(self, limit: int, spare: Callable[[], float] = spare_bytes) -> None:
        self.limit = limit
        self._spare = spare
        self._kept: OrderedDict[KernelWork, tuple[torch.Tensor, ...]] = OrderedDict()
        self._bytes = 0
        self._ready: tuple[object, tuple[torch.Tensor, ...]] | None = None
        self._fetched: torch.Tensor | None = None

    def capacity(self) -> float:
        """How many bytes it keeps in all."""
        return max(self.limit, self._bytes + self._spare())

    def make_ready(self, work: KernelWork, begin: float, share: float) -> tuple[torch.Tensor, ...]:
        """Have the data of a share of a task."""
        self._ready = None
        data = self._whole(work)
        if share < 1.0:
            from hybrid_scheduler.hardware.kernels import KERNELS

            data = KERNELS[work.kind].part(data, begin, share)
        self._ready = ((work, begin, share), data)
        return data

    def take(self, work: KernelWork, begin: float, share: float) -> tuple[torch.Tensor, ...]:
        """What was made ready, or is made now."""
        if self._ready is not None and self._ready[0] == (work, begin, share):
            return self._ready[1]
        return self.make_ready(work, begin, share)

    def fetch(self, result: torch.Tensor) -> torch.Tensor:
        """An accelerator's result in main memory, where the next one overwrites it: new memory would cost time."""
        import torch

        span = 1 + sum((count - 1) * stride for count, stride in zip(result.shape, result.stride(), strict=True))
        if span != result.numel():  # it has gaps
            return result.cpu()
        if self._fetched is None or self._fetched.nbytes < result.nbytes:
            self._fetched = torch.empty(result.nbytes, dtype=torch.uint8)
        flat = self._fetched[: result.nbytes].view(result.dtype)
        return flat.as_strided(result.shape, result.stride()).copy_(result)

    def _whole(self, work: KernelWork) -> tuple[torch.Tensor, ...]:
        if work in self._kept:
            self._kept.move_to_end(work)
            return self._kept[work]
        import torch

        from hybrid_scheduler.hardware.kernels import KERNELS

        # Room is made first, so that the old data and the new are not there at the same time.
        coming = round(kernel_kind(work.kind).input_bytes(work.size))
        while self._kept and self._bytes + coming > self.capacity():
            self._bytes -= _bytes(self._kept.popitem(last=False)[1])
        data = KERNELS[work.kind].make(work.size, torch.Generator().manual_seed(work.seed))
        self._kept[work] = data
        self._bytes += _bytes(data)
        return data


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    import torch

    total = 0
    for tensor in tensors:
        if tensor.layout is torch.sparse_csr:
            total += _bytes((tensor.crow_indices(), tensor.col_indices(), tensor.values()))
        else:
            total += tensor.nbytes
    return total


STORE = _Store(KEPT_BYTES)
"""Of this process, which is one lane's."""


@lru_cache
def _accelerator(place: Place) -> torch.device:
    """PyTorch's device of a place, started.

    Raises:
        InvalidInputError: PyTorch has none there.
    """
    import torch

    cuda = place.accelerator == "cuda" and torch.cuda.is_available()
    mps = place.accelerator == "mps" and torch.backends.mps.is_available()
    if not (cuda or mps):
        raise InvalidInputError(
            f"{place.device} cannot run kernels: PyTorch {torch.__version__} finds no CUDA or MPS there; "
            "install a PyTorch build for it, or leave the device out"
        )
    return torch.empty(1, device="cuda" if cuda else "mps").device


def _check(work: KernelWork, place: Place) -> None:
    from hybrid_scheduler.hardware.calibration import check_forms
    from hybrid_scheduler.hardware.kernels import KERNELS
    from hybrid_scheduler.hardware.torch_backend import plain_float32

    with plain_float32():
        check_forms(KERNELS[work.kind], work.size, _accelerator(place).type, work.seed)
