"""Traces and tables through `hms compare`, and `hms generate`, which writes them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from cli_answer import Hms, without_clock

from hybrid_scheduler.workloads import WorkloadGenerator, read_csv

TABLE = "task_id,cpu_0,gpu_0,k80\n1,4.0,1.0,9.0\n2,1.0,4.0,9.0\n3,9.0,9.0,1.0\n"


def test_what_is_generated_races_as_if_it_were_a_preset(hms: Hms) -> None:
    options = ("--tasks", 200, "--preset", "bursty", "--seed", 4, "--dependency-prob", 0.3)
    written = hms("generate", "--out", "made/tasks.csv", *options)
    assert (written.code, written.err) == (0, "")
    assert "avg_size" in written.out
    direct = without_clock(hms("compare", *options, "--json", "-").document)
    recorded = without_clock(hms("compare", "--trace", "made/tasks.csv", "--seed", 4, "--json", "-").document)
    assert recorded["schedulers"] == direct["schedulers"]
    assert recorded["lower_bound"] == direct["lower_bound"]
    assert recorded["workload"]["trace"] == "made/tasks.csv"
    assert "preset" not in recorded["workload"]


def test_generate_says_what_it_made(hms: Hms) -> None:
    document = hms("generate", "--out", "a.csv.gz", "--tasks", 50, "--rate", 8, "--json", "-").document
    tasks = read_csv("a.csv.gz").tasks
    assert document["out"] == "a.csv.gz"
    assert document["workload"]["arrival_rate"] == 8
    assert document["statistics"]["num_tasks"] == len(tasks) == 50
    assert document["statistics"]["avg_size"] == tasks.size.mean()
    assert gzip.decompress(Path("a.csv.gz").read_bytes()).startswith(b"task_id,")
    expected = WorkloadGenerator(42).generate("mixed", 50, 8.0)
    assert tasks.arrival_time.tolist() == expected.arrival_time.tolist()


def test_generate_within_ranges(hms: Hms) -> None:
    ranges = ("--size-range", "10,20", "--intensity-range", "0.4,0.6", "--memory-range", "0,1")
    assert hms("generate", "--out", "a.csv", *ranges, "--rate", 5).code == 0
    tasks = read_csv("a.csv").tasks
    for values, low, high in ((tasks.size, 10, 20), (tasks.compute_intensity, 0.4, 0.6), (tasks.memory_required, 0, 1)):
        assert low <= values.min() < values.max() <= high


def test_load_is_a_share_of_the_capacity_of_the_very_tasks(hms: Hms) -> None:
    """Twice the load is twice the rate, and on a node of like devices the capacity is known."""
    Path("trace.csv").write_text(
        "size,compute_intensity,memory_required,duration_estimate,arrival_time\n"
        + "".join(f"100,0,0,2.0,{10 + 3 * i}\n" for i in range(21))
    )
    own = hms("compare", "--trace", "trace.csv", "--gpus", 0, "--json", "-")
    assert own.document["workload"]["arrival_rate"] == pytest.approx(1 / 3)
    assert own.document["workload"]["load"] == pytest.approx(2 / 3)
    assert "task_id, dependencies, kind: derived" in own.err
    full = hms("compare", "--trace", "trace.csv", "--gpus", 0, "--load", 1, "--json", "-").document
    assert full["workload"]["arrival_rate"] == pytest.approx(0.5)
    assert full["schedulers"]["cpu_only"]["makespan"] == pytest.approx(42)
    assert full["schedulers"]["cpu_only"]["avg_wait"] == pytest.approx(0, abs=1e-9)
    slow = hms("compare", "--trace", "trace.csv", "--gpus", 0, "--rate", 0.1, "--json", "-").document
    assert slow["schedulers"]["cpu_only"]["makespan"] == pytest.approx(202)


def test_a_trace_without_arrivals(hms: Hms) -> None:
    Path("trace.csv").write_text("size,compute_intensity,memory_required\n" + "500,0.5,10\n" * 400)
    together = hms("compare", "--trace", "trace.csv", "--json", "-")
    assert "all tasks arrive at once" in together.err
    assert together.document["workload"]["arrival_rate"] is None
    spread = hms("compare", "--trace", "trace.csv", "--rate", 5, "--json", "-")
    assert "at once" not in spread.err
    # A Poisson process of 400 tasks keeps its rate within about 5 % (one sigma).
    assert spread.document["workload"]["arrival_rate"] == pytest.approx(5, rel=0.2)
    again = hms("compare", "--trace", "trace.csv", "--rate", 5, "--json", "-")
    assert without_clock(again.document) == without_clock(spread.document)
    other = hms("compare", "--trace", "trace.csv", "--rate", 5, "--seed", 1, "--json", "-")
    assert other.document["workload"]["arrival_rate"] != spread.document["workload"]["arrival_rate"]


def test_the_first_tasks_of_a_trace(hms: Hms) -> None:
    hms("generate", "--out", "a.csv", "--tasks", 60)
    document = hms("compare", "--trace", "a.csv", "--tasks", 25, "--json", "-").document
    short = hms("compare", "--tasks", 25, "--json", "-").document
    assert without_clock(document)["schedulers"] == without_clock(short)["schedulers"]


def test_a_table_brings_its_devices(hms: Hms) -> None:
    Path("table.csv").write_text(TABLE)
    answer = hms("compare", "--table", "table.csv", "--schedulers", "mct,cpu_only", "--json", "-")
    document = answer.document
    assert "size" in answer.err
    assert document["workload"]["table"] == "table.csv"
    kinds = {device["name"]: device["kind"] for device in document["cluster"]["devices"]}
    assert kinds == {"cpu_0": "cpu", "gpu_0": "gpu", "k80": "cpu"}
    assert document["cluster"]["physics"]["model"] == "table"
    assert document["schedulers"]["mct"]["makespan"] == pytest.approx(1.0)
    assert document["lower_bound"]["makespan"] == pytest.approx(1.0)
    Path("cluster.yaml").write_text("devices: [{name: gpu_0, kind: gpu}]")
    one = hms("compare", "--table", "table.csv", "--cluster", "cluster.yaml", "--json", "-").document
    assert one["schedulers"]["mct"]["makespan"] == pytest.approx(14.0)


def test_a_trace_with_the_times_of_a_table(hms: Hms) -> None:
    Path("table.csv").write_text(TABLE)
    Path("trace.csv").write_text(
        "task_id,size,compute_intensity,memory_required,arrival_time\n2,5,0.5,5,0\n1,5,0.5,5,10\n"
    )
    document = hms("compare", "--table", "table.csv", "--trace", "trace.csv", "--json", "-").document
    assert document["workload"]["trace"] == "trace.csv"
    assert document["schedulers"]["mct"]["makespan"] == pytest.approx(11.0)
