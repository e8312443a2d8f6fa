"""Parts of a kernel's work, run alone, are the whole of it."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from hybrid_scheduler.hardware.kernels import KERNELS
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads.kernel_kinds import kernel_kind


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("cuts", [(0.0, 0.5, 1.0), (0.0, 0.123, 0.7, 1.0), (0.0, 0.001, 1.0)])
@pytest.mark.parametrize("size", [7, 200])
def test_parts_are_the_whole(kind: str, cuts: tuple[float, ...], size: int) -> None:
    kernel, made = KERNELS[kind], KERNELS[kind].make(size, torch.Generator().manual_seed(1))
    shares = [(begin, end - begin) for begin, end in pairwise(cuts)]
    if not kernel_kind(kind).divisible:
        with pytest.raises(InvalidInputError, match=f"{kind} cannot be divided"):
            kernel.part(made, *shares[0])
        return
    results = [kernel.run(*kernel.part(made, *share)) for share in shares]
    together, whole = torch.cat(results), kernel.run(*made)
    if kind == "sort":
        assert all(torch.equal(each, each.sort().values) for each in results)
        together = together.sort().values
    assert torch.allclose(together, whole, rtol=1e-4, atol=1e-4)
    sizes = [len(each) / len(whole) for each in results]
    assert sizes == pytest.approx([share for _, share in shares], abs=1 / len(whole))
