"""Experiments over the API: real ones, in real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from running_service import TOKEN, NewService, Service

from hybrid_scheduler.cli import INTERRUPTED
from hybrid_scheduler.experiments.progress_file import read_progress
from hybrid_scheduler.server import experiment_jobs
from hybrid_scheduler.server.run_files import run_files
from hybrid_scheduler.server.timeouts import Timeouts
from hybrid_scheduler.store import RunRow

LONG = {"name": "load", "seeds": 50, "tasks": 1_000_000}
"""Would take hours."""
PATIENCE = 240.0


def _followed(service: Service, job_id: str, *, until: str) -> dict[str, Any]:
    """The job once its state (or, for `stored`, its run) is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        job: dict[str, Any] = service.client.get(f"/api/experiments/{job_id}").json()
        if job["state"] == until or (until == "stored" and job["run_id"] is not None):
            return job
        assert job["state"] == "running", job
        time.sleep(0.1)
    raise AssertionError(f"{job} is not {until} after {PATIENCE} s")


def _process(service: Service, job_id: str) -> int:
    jobs = service.app.state.services.experiments
    return next(int(job.process.pid) for job in jobs._jobs if job.id == job_id)


def _alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def _group(leader: int) -> list[str]:
    """The processes of a group that still run."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group, *_ = file.read_text().rpartition(")")[2].split()
            found += [file.parent.name] if int(group) == leader and state != "Z" else []
    return found


def test_an_experiment_from_start_to_files(service: Service) -> None:
    client = service.client
    answer = client.post("/api/experiments", json={"name": "heavy", "seeds": 1, "tasks": 12})
    assert answer.status_code == 202
    job = answer.json()
    assert (job["name"], job["state"], job["files"]) == ("heavy", "running", [])
    assert os.getpriority(os.PRIO_PROCESS, _process(service, job["id"])) >= experiment_jobs.NICENESS
    began = time.monotonic()
    assert client.get("/api/status").status_code == 200
    assert time.monotonic() - began < 5.0, "the service answers while it starts"
    done = _followed(service, job["id"], until="finished")
    assert (done["done"], done["total"], done["seconds_left"]) == (1, 1, None)
    assert {"report.pdf", "report.html", "result.json", "result.csv", "result.parquet"} < set(done["files"])
    assert client.get("/api/experiments").json()["jobs"] == [done]
    assert client.delete(f"/api/experiments/{job['id']}").json() == done, "how one ended stays as it is"
    assert client.get(f"/api/experiments/{job['id']}").status_code == 404, "deleted"

    run = client.get(f"/api/runs/{done['run_id']}").json()
    assert (run["kind"], run["name"], run["status"], run["seed"]) == ("experiment", "heavy", "finished", 1)
    assert run["configuration"]["tasks"] == 12
    folder = Path(run["configuration"]["folder"])
    assert folder == Path(service.settings.results_folder).absolute() / f"heavy-{job['id']}"

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir() if each.is_file()} == {0o600}

    where = f"/api/runs/{run['id']}/files"
    listed = client.get(where).json()
    assert listed == [{"name": name, "bytes": (folder / name).stat().st_size} for name in done["files"]]
    document = client.get(f"{where}/result.json").json()
    for name, figures in run["summary"]["schedulers"].items():
        for metric, figure in figures.items():
            assert figure.items() <= document["schedulers"][name][metric].items()
    for name, kind in (
        ("report.pdf", "application/pdf"),
        ("report.html", "text/html; charset=utf-8"),
        ("latency_cdf.png", "image/png"),
        ("result.csv", "text/csv; charset=utf-8"),
        ("result.parquet", "application/vnd.apache.parquet"),
    ):
        got = client.get(f"{where}/{name}")
        assert (got.status_code, got.headers["content-type"]) == (200, kind)
        assert got.content == (folder / name).read_bytes()
    policy = client.get(f"{where}/report.html").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "sandbox" in policy
    for name in ("parts", ".progress.json", "..%2f..%2fservice.db", "%2e%2e", "nothing.csv", "result.json%00"):
        assert client.get(f"{where}/{name}").status_code == 404, name


def test_one_at_a_time_and_cancelling(service: Service) -> None:
    client = service.client
    job = client.post("/api/experiments", json=LONG).json()
    second = client.post("/api/experiments", json={"name": "heavy"})
    assert (second.status_code, second.json()["error"]["code"]) == (409, "experiment_running")
    job = _followed(service, job["id"], until="stored")
    pid = _process(service, job["id"])
    cancelled = client.delete(f"/api/experiments/{job['id']}").json()
    assert (cancelled["state"], cancelled["seconds_left"], cancelled["files"]) == ("cancelled", None, [])
    assert not _alive(pid)
    assert client.delete(f"/api/experiments/{job['id']}").json() == cancelled
    assert client.get("/api/experiments").json()["jobs"] == [cancelled]
    run = client.get(f"/api/runs/{job['run_id']}").json()
    assert (run["status"], run["summary"]) == ("interrupted", None)
    assert client.get(f"/api/runs/{job['run_id']}/files").json() == []


def test_an_experiment_ends_with_the_service(new_service: NewService, timeouts: Timeouts) -> None:
    # killed, so the service must end the run
    service = new_service(timeouts=replace(timeouts, cancelled_experiment=0.0))
    job = service.client.post("/api/experiments", json=LONG).json()
    job = _followed(service, job["id"], until="stored")
    pid = _process(service, job["id"])
    jobs = service.app.state.services.experiments
    service.run(jobs.close)
    assert not _alive(pid)
    assert service.client.get(f"/api/runs/{job['run_id']}").json()["status"] == "interrupted"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_experiment_whose_starter_was_killed_ends_with_its_workers(tmp_path: Path, jobs: str) -> None:
    """Standard input ends with whoever holds the other end. A million tasks are minutes in compiled code."""
    file = tmp_path / "progress.json"
    words = ["experiment", "heavy", "--tasks", "1000000", "--seeds", "2", "--no-store", "--jobs", jobs]
    words += ["--end-with-input", "--progress-file", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "hybrid_scheduler", *words],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + PATIENCE
        while read_progress(file).total == 0:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        time.sleep(3)
        assert process.stdin is not None
        process.stdin.close()
        began = time.monotonic()
        assert process.wait(60) in (INTERRUPTED, -signal.SIGKILL)
        while _group(process.pid):
            assert time.monotonic() - began < 30, _group(process.pid)
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_newest_results_are_kept_and_those_of_others(tmp_path: Path) -> None:
    names = [f"heavy-{number:012x}" for number in range(5)]
    for age, name in enumerate(names):
        (tmp_path / name).mkdir()
        (tmp_path / name / experiment_jobs.LOG).touch()
        os.utime(tmp_path / name / experiment_jobs.LOG, (1000 - age, 1000 - age))
    others = ["load", "heavy-0123456789ab", "heavy"]  # of the command line; the second has no log of ours
    for name in others:
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").touch()
    (tmp_path / "heavy" / experiment_jobs.LOG).touch()  # the name is not one that we give
    (tmp_path / "elsewhere-00000000000f").symlink_to(tmp_path / "heavy")
    experiment_jobs._forget_oldest(tmp_path, 2)
    left = sorted(each.name for each in tmp_path.iterdir())
    assert left == sorted([*names[:2], *others, "elsewhere-00000000000f"])
    assert (tmp_path / "heavy" / "result.json").exists()
    experiment_jobs._forget_oldest(tmp_path / "nowhere", 2)


def test_what_fails_says_why(service: Service) -> None:
    Path("config.yaml").write_text("physics: {split: neither}\n")
    job = service.client.post("/api/experiments", json={"name": "heavy", "seeds": 1}).json()
    failed = _followed(service, job["id"], until="failed")
    assert "config.yaml" in failed["message"]
    assert "neither" in failed["message"]


def test_what_can_be_run(service: Service) -> None:
    found = service.client.get("/api/experiments").json()
    assert found["jobs"] == []
    assert {each["name"] for each in found["available"]} >= {"shift", "heavy", "mixed", "load", "energy", "ablation"}
    heavy = next(each for each in found["available"] if each["name"] == "heavy")
    assert (heavy["default_seeds"], heavy["default_tasks"]) == (5, 10_000)
    assert "tasks" in heavy["question"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"name": "mixd"}, "did you mean 'mixed'"),
        ({}, "name"),
        ({"name": "mixed", "seeds": 0}, "seeds"),
        ({"name": "mixed", "seeds": 51}, "seeds"),
        ({"name": "mixed", "tasks": 9}, "tasks"),
        ({"name": "mixed", "tasks": 1.5}, "tasks"),
        ({"name": "mixed", "out": "/tmp"}, "out"),
        ({"name": "--help"}, "unknown experiment"),
    ],
)
def test_bad_wishes(service: Service, body: dict[str, Any], says: str) -> None:
    answer = service.client.post("/api/experiments", json=body)
    assert answer.status_code == 422
    assert says in answer.json()["error"]["message"]
    assert service.client.get("/api/experiments").json()["jobs"] == []


def test_what_is_not_there(service: Service) -> None:
    for path in ("/api/experiments/abc", "/api/runs/77/files", "/api/runs/77/files/report.pdf"):
        assert service.client.get(path).status_code == 404, path
    assert service.client.delete("/api/experiments/abc").status_code == 404


def test_an_address_names_all_its_methods(service: Service) -> None:
    for path, methods in (("/api/experiments", "GET, POST"), ("/api/experiments/abc", "DELETE, GET")):
        answer = service.client.put(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)


def test_the_token_is_needed(new_service: NewService) -> None:
    client = new_service(api_token=TOKEN).client
    assert client.post("/api/experiments", json={"name": "heavy"}).status_code == 401
    assert client.delete("/api/experiments/abc").status_code == 401
    assert client.get("/api/experiments").json()["jobs"] == []


def test_a_run_gives_away_nothing_but_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "secret.csv").write_text("secret")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    for name in ("result.csv", "other.csv", "key.pem"):
        (folder / name).write_text("text")
    names = ["result.csv", "gone.csv", "link.csv", "../secret.csv", str(tmp_path / "secret.csv"), "key.pem", ".csv", 5]
    run = RunRow(
        1,
        "experiment",
        "heavy",
        1,
        {"folder": str(folder)},
        (),
        {"files": names},
        0,
        0,
        None,
        0,
        None,  # type: ignore[arg-type]
        None,
        "finished",
    )
    assert run_files(run) == {"result.csv": folder / "result.csv"}
    for other in (run._replace(kind="compare"), run._replace(summary=None), run._replace(configuration={})):
        assert run_files(other) == {}
