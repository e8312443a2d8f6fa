"""Published files of every format, as their sources describe them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.workloads.chunks import chunk_of
from hybrid_scheduler.workloads.readers.registry import read_workload
from hybrid_scheduler.workloads.recorded import RecordedFile, TableFile, TraceFile
from hybrid_scheduler.workloads.summary import summarise_chunks

WORKFLOWS = {
    "1000genome-chameleon-2ch-250k-001": 82,
    "blast-chameleon-medium-001": 303,
    "bwa-chameleon-small-001": 104,
    "cycles-chameleon-1l-1c-9p-001": 67,
    "epigenomics-chameleon-ilmn-1seq-100k-001": 125,
    "montage-chameleon-2mass-015d-001": 310,
    "rnaseq-dirt02-001": 197,
    "seismology-chameleon-200p-001": 201,
    "soykb-chameleon-10fastq-10ch-001": 96,
}
WITHOUT_MEMORY = ("epigenomics", "cycles", "1000genome", "seismology", "soykb")


def read(path: Path, format: str) -> RecordedFile:
    name, file = read_workload(path, 42)
    assert name == format
    return file


def dropped(file: RecordedFile) -> list[int | None]:
    return [assumption.tasks for assumption in file.assumed if assumption.rule == "dropped"]


@pytest.mark.parametrize(("name", "tasks"), WORKFLOWS.items(), ids=WORKFLOWS)
def test_every_workflow_reads_and_is_acyclic(shared_data: Path, name: str, tasks: int) -> None:
    file = read(shared_data / "workflows" / f"{name}.json.gz", "wfformat")
    assert len(file.tasks) == tasks
    found = summarise_chunks([chunk_of(file)], 1)
    assert found.graph is not None
    assert 1 < found.graph.depth < tasks
    assert 1 < found.graph.width < tasks
    assert file.tasks.memory_required.any() != name.startswith(WITHOUT_MEMORY)


def test_philly(shared_data: Path) -> None:
    file = read(shared_data / "traces" / "philly_jobs" / "philly.csv.gz", "philly")
    assert isinstance(file, TraceFile)
    assert len(file.tasks) == 82_247
    assert dropped(file) == []
    assert file.tasks.width.max() == 128
    assert (file.tasks.width == 1).mean() == pytest.approx(0.93, abs=0.005)
    found = summarise_chunks([chunk_of(file)], 1).arrivals
    assert found is not None
    assert 1 / found.rate == pytest.approx(114, abs=1)
    assert found.variation == pytest.approx(15, abs=0.5)


def test_alibaba_pods(shared_data: Path) -> None:
    file = read(shared_data / "traces" / "alibaba_gpu_v2023" / "openb_pod_list_default.csv.gz", "alibaba")
    assert isinstance(file, TraceFile)
    assert dropped(file) == [58, 897]
    assert len(file.tasks) == 8152 - 58 - 897


def test_swf(shared_data: Path) -> None:
    file = read(shared_data / "traces" / "swf" / "KTH-SP2-1996-2.1.swf.gz", "swf")
    assert isinstance(file, TraceFile)
    assert len(file.tasks) + sum(count or 0 for count in dropped(file)) == 28_489
    assert np.median(file.tasks.duration_estimate) == pytest.approx(847, abs=2)
    assert np.median(file.tasks.width) == 3
    assert file.requested_time is not None
    known = ~np.isnan(file.requested_time)
    ratio = np.median(file.requested_time[known] / file.tasks.duration_estimate[known])
    assert ratio == pytest.approx(2.4, abs=0.1)


def test_etc_as_its_own_numbers(shared_data: Path) -> None:
    path = shared_data / "benchmarks" / "hcsp" / "u_i_hilo.gz"
    file = read(path, "etc")
    assert isinstance(file, TableFile)
    assert file.seconds.ravel().tolist() == [float(cell) for cell in gzip.decompress(path.read_bytes()).split()[3:]]


def test_starpu_as_the_published_pairs(shared_data: Path) -> None:
    folder = shared_data / "hardware" / "starpu"
    file = read(folder / "kernel_times.csv", "starpu")
    assert isinstance(file, TableFile)
    with (folder / "cpu_vs_gpu_pairs.csv").open(newline="", encoding="utf-8") as pairs:
        rows = [(float(row["cpu_mean_us"]), float(row["cuda_mean_us"])) for row in csv.DictReader(pairs)]
    assert dropped(file)[0] == 205
    published = np.array(sorted(rows))
    ours = np.array(sorted(map(tuple, (1e6 * file.seconds).tolist())))
    assert ours.shape == published.shape
    assert np.allclose(ours, published, rtol=1e-4)


def test_gavel(shared_data: Path) -> None:
    file = read(shared_data / "traces" / "gavel" / "isolated_throughputs.csv", "gavel")
    assert isinstance(file, TableFile)
    assert file.device_names == ("gpu_k80", "gpu_p100", "gpu_v100")
    ratio = file.seconds[:, 0] / file.seconds[:, 2]
    assert ratio[file.tasks.width == 1].min() == pytest.approx(0.66, abs=0.01)
    assert len(file.tasks) + (dropped(file)[1] or 0) == 192
