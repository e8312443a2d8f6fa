"""A folder of matrices of many sizes, each one squared a few times: on a CPU, or on a GPU where there is one.

    python examples/executor/matrices.py
    python examples/executor/matrices.py --folder matrices --files 400 --largest 3000

The same files go through three executors: one that always takes a CPU, one that always takes a GPU, and one whose
scheduler finds out which matrices are worth the way to the GPU, and which are not. Without a GPU the second is left
out, and the third only decides on the order: short ones first.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import hybrid_scheduler as hs

TIMES = 4


def make(folder: Path, files: int, smallest: int, largest: int) -> list[Path]:
    """Write matrices of sizes that are even in their logarithms, in an order of chance."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    sizes = np.exp(random.uniform(np.log(smallest), np.log(largest), files)).astype(int)
    paths = [folder / f"{number:05}.npy" for number in range(files)]
    for path, size in zip(paths, sizes, strict=True):
        np.save(path, random.standard_normal((size, size), dtype=np.float32) / np.sqrt(size, dtype=np.float32))
    return paths


def squared(path: Path) -> float:
    """The form for a CPU."""
    matrix = np.load(path)
    for _ in range(TIMES):
        matrix = matrix @ matrix
    return float(np.linalg.norm(matrix))


def squared_on_gpu(path: Path) -> float:
    """The form for a GPU: the same figure, so it may run wherever that is faster."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "mps"
    matrix = torch.from_numpy(np.load(path)).to(device)
    for _ in range(TIMES):
        matrix = matrix @ matrix
    return float(torch.linalg.norm(matrix))


def run(name: str, scheduler: str, paths: list[Path]) -> tuple[float, list[float]]:
    """Send every file through one executor; seconds until the last is done, and the results."""
    with hs.Executor(scheduler, remember=False) as executor:
        # Every process loads its libraries, and small and large ones are measured once, before the clock starts.
        by_size = sorted(paths, key=lambda path: path.stat().st_size)
        warm = [*by_size[:: max(1, len(by_size) // 8)], by_size[-1]] * 2
        list(executor.map(squared, warm, gpu=squared_on_gpu, size=lambda path: path.stat().st_size))
        began, ends = time.perf_counter(), list[float]()
        futures = []
        for path in paths:
            future = executor.submit(squared, path, gpu=squared_on_gpu, size=path.stat().st_size)
            future.add_done_callback(lambda _: ends.append(time.perf_counter() - began))
            futures.append(future)
        results = [future.result() for future in futures]
        took = time.perf_counter() - began
        where = ", ".join(f"{count} on {device}" for device, count in executor.stats().by_device.items())
    print(f"{name:14} {took:6.2f} s for all, {np.mean(ends):6.2f} s in the mean until one is done ({where})")
    return took, results


def has_gpu() -> bool:
    """Whether one of the lanes is a GPU's."""
    with hs.Executor("fcfs", remember=False) as executor:
        return any(device.startswith("gpu") for device in executor.stats().by_device)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the matrices are written; by default a temporary folder")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--smallest", type=int, default=30)
    parser.add_argument("--largest", type=int, default=1500)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        paths = make(options.folder or Path(temporary), options.files, options.smallest, options.largest)
        runs = {"always the CPU": "cpu_only", "hybrid_queue": "hybrid_queue"}
        if has_gpu():
            runs = {"always the CPU": "cpu_only", "always the GPU": "gpu_only", "hybrid_queue": "hybrid_queue"}
        else:
            print("no GPU here: only the order is decided")
        seconds, results = {}, {}
        for name, scheduler in runs.items():
            seconds[name], results[name] = run(name, scheduler, paths)
        first = results["always the CPU"]
        assert all(np.allclose(each, first, rtol=1e-2) for each in results.values()), "the forms disagree"
        if len(runs) == 3:
            best = min(seconds[name] for name in runs if name != "hybrid_queue")
            print(f"hybrid_queue takes {seconds['hybrid_queue'] / best:.2f} of the better of the other two")


if __name__ == "__main__":
    main()
