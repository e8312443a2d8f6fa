"""Tiled factorisations: closed forms, and dependencies by another way than the generator's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.graph import GraphShape, shape_of
from hybrid_scheduler.workloads.graphs.cholesky import Cholesky
from hybrid_scheduler.workloads.graphs.lu import Lu
from hybrid_scheduler.workloads.graphs.qr import Qr
from hybrid_scheduler.workloads.graphs.tiled import CPU_FLOPS, RULES, TiledPreset

SIDES = (1, 2, 3, 5, 8, 13)


def one_graph(preset: TiledPreset) -> TaskBatch:
    return WorkloadGenerator().generate(preset, 1)


def shape(tasks: TaskBatch) -> GraphShape:
    found = shape_of(np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start)), tasks.parents, len(tasks))
    assert found is not None
    return found


@pytest.mark.parametrize("n", SIDES)
def test_cholesky_has_its_closed_form(n: int) -> None:
    tasks = one_graph(Cholesky(tiles=n))
    assert len(tasks) == Cholesky(tiles=n).tasks == n * (n + 1) * (n + 2) // 6
    assert Counter(task.kind for task in tasks) == +Counter(
        potrf=n, trsm=n * (n - 1) // 2, syrk=n * (n - 1) // 2, gemm=n * (n - 1) * (n - 2) // 6
    )
    assert shape(tasks) == GraphShape((n - 1) * n * (n + 1) // 2, 3 * n - 2, max(1, n * (n - 1) // 2), 1)


@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("preset", [Lu, Qr])
def test_lu_and_qr_have_theirs(preset: type[TiledPreset], n: int) -> None:
    tasks = one_graph(preset(tiles=n))
    assert len(tasks) == preset(tiles=n).tasks == n * (n + 1) * (2 * n + 1) // 6
    pairs, cubes = n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6
    kinds = (
        {"getrf": n, "trsm": 2 * pairs, "gemm": cubes}
        if preset is Lu
        else {"geqrt": n, "ormqr": pairs, "tsqrt": pairs, "tsmqr": cubes}
    )
    assert Counter(task.kind for task in tasks) == +Counter(kinds)
    found = shape(tasks)
    assert (found.depth, found.roots) == (3 * n - 2, 1)
    if preset is Lu:
        assert found.width == max(1, 2 * (n - 1), (n - 1) ** 2)


@pytest.mark.parametrize("preset", [Cholesky(tiles=6), Lu(tiles=5), Qr(tiles=5)])
def test_any_order_that_keeps_the_dependencies_reads_what_the_sequential_program_reads(preset: TiledPreset) -> None:
    """Run the kernels in random orders on tiles that remember who wrote them, as versions: none may differ."""
    program, tasks = list(preset.program()), one_graph(preset)

    def run(order: list[int]) -> dict[int, list[object]]:
        version: dict[object, object] = {}
        seen = {}
        for number in order:
            kernel = program[number]
            seen[number] = [version.get(tile) for tile in (*kernel.reads, *kernel.updates)]
            version.update(dict.fromkeys((*kernel.updates, *kernel.creates), number))
        return seen

    expected = run(list(range(len(program))))
    random = np.random.default_rng(4)
    for _ in range(20):
        waiting = {i: set(tasks.dependencies_of(i)) for i in range(len(tasks))}
        order: list[int] = []
        while waiting:
            ready = [i for i, parents in waiting.items() if not parents]
            order.append(ready[random.integers(len(ready))])
            del waiting[order[-1]]
            for parents in waiting.values():
                parents.discard(order[-1])
        assert run(order) == expected
    # ... and no dependency is more than that: each brings a tile that its child works on.
    for task in tasks:
        assert set(task.dependencies) == {writer for writer in expected[task.task_id] if writer is not None}


def test_work_memory_and_data_follow_from_the_tile() -> None:
    tasks = one_graph(Cholesky(tiles=4, tile=480, bytes=4))
    tile_mb = 480 * 480 * 4 / 1e6
    for task in tasks:
        flops = task.duration_estimate * CPU_FLOPS / 480**3
        assert flops == pytest.approx({"potrf": 1 / 3, "trsm": 1.0, "syrk": 1.0, "gemm": 2.0}[task.kind])
        worked_on = {"potrf": 1, "trsm": 2, "syrk": 2, "gemm": 3}[task.kind]
        assert task.memory_required == pytest.approx(worked_on * tile_mb)
        assert task.dependency_mb == pytest.approx([tile_mb] * len(task.dependencies))
        assert task.compute_intensity == RULES[task.kind].intensity
    # The last task needs one tile, which the last update of it wrote.
    assert (tasks[-1].kind, [tasks[i].kind for i in tasks.dependencies_of(len(tasks) - 1)]) == ("potrf", ["syrk"])


def test_the_smallest_qr_edge_by_edge() -> None:
    tasks = one_graph(Qr(tiles=2, tile=1000, bytes=1))
    assert [(task.kind, task.dependencies_with_data) for task in tasks] == [
        ("geqrt", ()),
        ("ormqr", ((0, 1.0),)),
        ("tsqrt", ((0, 1.0),)),
        ("tsmqr", ((2, 1.0), (1, 1.0))),
        ("geqrt", ((3, 1.0),)),
    ]
