"""`hms run` and `hs.run`: real kernels on this machine's processes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from cli_answer import Hms

import hybrid_scheduler as hs
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError

KERNELS = "kernels:kinds=matmul+axpy+sort,sizes=8-40"
TRACE = "kind,size,arrival_time\nmatmul,16,10.0\nsort,8,10.02\naxpy,16,10.02\nmatmul,24,10.05\n"
NODE = """
devices:
  - {name: cpu_0, kind: cpu, watts: 70, dollars_per_second: 0.5}
  - {name: cpu_1, kind: cpu, watts: 70, dollars_per_second: 0.5}
calibration: node.csv
"""
TABLE = "kind,size,device,launch_s,compute_s,transfer_s,scatter,slowdown\n" + "".join(
    f"{kind},{size},{device},0.0001,{size * 1e-6},0,0,0\n"
    for kind in ("matmul", "sort", "axpy")
    for size in (8, 40)
    for device in ("cpu_0", "cpu_1")
)


@pytest.mark.slow
def test_a_trace_runs_and_is_kept(hms: Hms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    Path("kernels.csv").write_text(TRACE)
    options = ("--lanes", 1, "--store", "--json", "out.json")
    ran = hms("run", "--trace", "kernels.csv", "--schedulers", "sjf,hybrid_queue", *options)
    assert ran.code == 0, ran.err
    assert "sjf" in ran.out
    assert "hybrid_queue starts cold: the packaged models are of simulated nodes" in ran.err
    assert "energy is unknown" in ran.err
    assert "kept as run 1" in ran.err
    document = json.loads(Path("out.json").read_text())
    assert document["node"]["node"] == "machine"
    assert document["node"]["times"] == "measured"
    assert [lane["device"] for lane in document["node"]["lanes"]] == ["cpu_0"]
    assert document["cluster"]["physics"] == {"model": "measured", "cost": "cloud"}
    assert document["workload"]["trace"].endswith("kernels.csv")
    assert document["workload"]["load"] is None
    assert document["lower_bound"] == {"makespan": None, "avg_response": None}
    for figures in document["schedulers"].values():
        assert figures["tasks"] == 4
        assert figures["failures"] == []
        assert figures["energy"] is None
        assert 0.05 <= figures["makespan"] < 60.0, "the trace begins at 10 s, and nobody waits for that"
        assert figures["decision_us"] > 0.0
    with closing(sqlite3.connect("data/hybrid_scheduler.db")) as store:
        kept = store.execute("SELECT scheduler_name, energy_consumption FROM scheduler_results").fetchall()
    assert sorted(kept) == [("hybrid_queue", None)] * 4 + [("sjf", None)] * 4
    assert "run 1 was real work" in hms("report", 1).err


@pytest.mark.slow
def test_a_calibrated_machine_gives_estimates_prices_and_learners(hms: Hms, tmp_path: Path) -> None:
    Path("node.yaml").write_text(NODE)
    Path("node.csv").write_text(TABLE)
    tasks = ("--preset", KERNELS, "--tasks", 20, "--load", 0.5, "--train-tasks", 60)
    ran = hms("run", *tasks, "--scheduler", "mct,hybrid_ml", "--cluster", "node.yaml", "--json", "-")
    assert ran.code == 0, ran.err
    assert "cold" not in ran.err
    document = json.loads(ran.out)
    assert document["node"]["times"] == "calibrated"
    assert document["node"]["described_by"] == "node.yaml"
    assert document["workload"]["load"] > 0.0
    devices = document["cluster"]["devices"]
    assert [device["watts"] for device in devices] == [70.0, 70.0]
    for figures in document["schedulers"].values():
        busy = sum(u["utilization"] for name, u in figures["utilization"].items() if name != "average_utilization")
        assert figures["cost"] == pytest.approx(0.5 * busy * figures["makespan"])


def test_what_nobody_can_know_or_run_is_refused(hms: Hms) -> None:
    for words, said in (
        (("--load", "0.5"), "load is 0.5, a share of the node's capacity, which nobody knows of this machine"),
        (("--train-tasks", "50"), "learners are trained in the calibrated twin of a machine, and there is none"),
        (("--preset", "mixed"), "kind 'synthetic', which nothing here can run; kinds with a kernel are matmul"),
        (("--schedulers", "oracle"), "nobody knows on a real node"),
        (("--schedulers", "heft"), "plans ahead with the times of all tasks"),
        (("--node", "mars"), "node is 'mars', but it must be 'machine', 'ray' or 'ray://HOST:PORT'"),
        (("--lanes", "1000"), "1000 CPU lanes are asked for, but it must be 1 to"),
    ):
        refused = hms("run", *words)
        assert (refused.code, refused.out) == (2, ""), words
        assert said in refused.err
    with pytest.raises(UnknownNameError, match="option of run"):
        hs.run("sjf", tsks=3)
    with pytest.raises(InvalidInputError, match="limit is 0"):
        hs.run("sjf", limit=0.0)


@pytest.mark.slow
def test_in_python_tasks_of_a_preset_arrive_at_once() -> None:
    told: list[tuple[str, int]] = []
    result = hs.run("sjf", preset=KERNELS, tasks=6, cpu_lanes=1, progress=lambda name, done: told.append((name, done)))
    assert told == [("sjf", done) for done in range(1, 7)]
    frame = result.outcomes("sjf").to_dataframe()
    assert frame["arrival_time"].tolist() == [0.0] * 6
    assert not frame["failed"].any()
    assert "for real on cpu_0" in repr(result)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "kernels.csv").write_text("kind,size,arrival_time\nmatmul,8,0.0\nmatmul,8,0.0\nmatmul,8,5000.0\n")
    words = ("run", "--trace", "kernels.csv", "--scheduler", "round_robin", "--lanes", "1")
    command = [sys.executable, "-m", "hybrid_scheduler", *words]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            until = time.monotonic() + 120.0
            while not (workers := children.read_text().split()) and time.monotonic() < until:
                time.sleep(0.05)
            assert workers
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=120.0)
        finally:
            process.kill()  # its workers end with it, and this test does not wait for its last task
    assert process.returncode == 130, errors
    assert output == b""
    assert b"Traceback" not in errors
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)
