"""`hms inspect`, and other people's formats through `hms compare --trace`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from cli_answer import Hms, without_clock

SWF = "; made up\n" + "".join(f"{i} {10 * i} 0 {5 + i} 2 -1 -1 2 60 -1 1 1 1 -1 1 -1 -1 -1\n" for i in range(1, 41))
ETC = "4 2 0\n1\n2\n2\n1\n1\n2\n2\n1\n"
WORKFLOW = {
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {"tasks": [{"id": "a", "children": ["b"]}, {"id": "b", "parents": ["a"]}]},
        "execution": {"tasks": [{"id": "a", "runtimeInSeconds": 3}, {"id": "b", "runtimeInSeconds": 4}]},
    },
}


def test_what_is_said_of_a_generated_file(hms: Hms) -> None:
    hms("generate", "--out", "a.csv", "--tasks", 400, "--rate", 5, "--dependency-prob", 0.3)
    answer = hms("inspect", "a.csv", "--json", "b.json", "--plot", "a.png")
    assert (answer.code, answer.err) == (0, "")
    assert "(csv), 400 tasks" in answer.out
    assert "kinds: synthetic 400" in answer.out
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads(Path("b.json").read_text())
    assert document["format"] == "csv"
    assert document["figures"]["size"]["min"] >= 100
    assert document["figures"]["size"]["p50"] == pytest.approx(160, rel=0.2)
    assert document["arrivals"]["rate"] == pytest.approx(5, rel=0.2)
    assert document["graph"]["depth"] > 2
    assert document["graph"]["width"] <= document["graph"]["roots"] <= 400
    assert document["assumed"] == []


def test_what_had_to_be_assumed_is_listed(hms: Hms) -> None:
    Path("log.gz").write_bytes(gzip.compress(SWF.encode()))
    answer = hms("inspect", "log.gz", "--seed", 5)
    assert "compute_intensity is drawn as the preset mixed draws it (intensity_from_seed, seed 5)" in answer.out
    document = hms("inspect", "log.gz", "--seed", 5, "--json", "-").document
    assert document["figures"]["width"]["max"] == 2
    assert document["figures"]["requested_time"]["mean"] == 60
    assert {"rule", "text", "seed"} <= document["assumed"][1].keys()
    other = hms("inspect", "log.gz", "--seed", 6, "--json", "-").document
    assert other["figures"]["compute_intensity"] != document["figures"]["compute_intensity"]
    assert other["figures"]["duration_estimate"] == document["figures"]["duration_estimate"]


def test_the_formats_are_listed(hms: Hms) -> None:
    listed = hms("inspect", "--formats").out
    assert "swf  SWF, Parallel Workloads Archive" in listed
    assert hms("inspect").err == "hms inspect: name the file to inspect, or list the formats with --formats\n"


def test_a_foreign_trace_races_and_says_what_was_assumed(hms: Hms) -> None:
    Path("log.swf").write_text(SWF)
    answer = hms("compare", "--trace", "log.swf", "--seed", 3, "--json", "-")
    assert answer.code == 0
    assert "note: compute_intensity is drawn as the preset mixed draws it (intensity_from_seed, seed 3)" in answer.err
    assert "the node has 2 CPUs and no GPU, as many as the widest task occupies" in answer.err
    workload = answer.document["workload"]
    assert workload["format"] == "swf"
    assert {"rule": "memory_zero", "text": "the file does not say memory_required: 0 MB", "tasks": 40} in workload[
        "assumed"
    ]
    forced = hms("compare", "--trace", "log.swf", "--format", "swf", "--seed", 3, "--json", "-")
    assert without_clock(forced.document) == without_clock(answer.document)


def test_derived_columns_are_assumptions_too(hms: Hms) -> None:
    Path("t.csv").write_text("size,compute_intensity,memory_required\n500,0.5,10\n")
    answer = hms("compare", "--trace", "t.csv", "--json", "-")
    (said,) = answer.document["workload"]["assumed"]
    assert said["rule"] == "derived"
    assert f"note: {said['text']}\n" in answer.err


def test_times_per_device_bring_their_devices(hms: Hms) -> None:
    Path("m").write_text(ETC)
    answer = hms("compare", "--trace", "m", "--schedulers", "mct", "--json", "-")
    assert [device["name"] for device in answer.document["cluster"]["devices"]] == ["machine_0", "machine_1"]
    assert answer.document["schedulers"]["mct"]["makespan"] == pytest.approx(2.0)
    assert answer.document["workload"]["format"] == "etc"


def test_a_workflow_waits_for_its_parents(hms: Hms) -> None:
    Path("w.json").write_text(json.dumps(WORKFLOW))
    document = hms("compare", "--trace", "w.json", "--schedulers", "cpu_only", "--json", "-").document
    assert document["schedulers"]["cpu_only"]["makespan"] == pytest.approx(7.0)


CYCLE = json.dumps(WORKFLOW).replace('"children": ["b"]', '"parents": ["b"]')


@pytest.mark.parametrize("command", [("inspect",), ("compare", "--trace")])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "cut.csv.gz",
            gzip.compress(b"size,compute_intensity,memory_required\n1,1,1\n" * 99, mtime=0)[:-9],
            "complete gzip file",
        ),
        ("jobs.csv", b"timestamp,duratoin,num_gpus\n", "line 1: the required column 'duration' is missing"),
        ("w.json", CYCLE.encode(), "wait for each other; break the cycle"),
        ("log.swf", SWF.replace(" 60 ", " ", 1).encode(), "line 2: the line has 17 fields, but a job has 18"),
        ("t.csv", b"size,compute_intensity,memory_required\n1,2,3\n", "line 2, column compute_intensity: '2' must be"),
        ("m", b"4 2 0\n1 2 3", "there are 3 times, but line 1 says 4 tasks on 2 machines"),
        (
            "d.csv",
            b"size,compute_intensity,memory_required,task_id,dependencies\n1,1,3,1,[2]\n1,1,3,2,[1]\n",
            "wait for each other; break the cycle",
        ),
    ],
    ids=("truncated", "column", "cyclic workflow", "field", "range", "matrix", "cyclic trace"),
)
def test_one_line_for_everything_that_is_wrong(
    hms: Hms, command: tuple[str, ...], name: str, content: bytes, message: str
) -> None:
    Path(name).write_bytes(content)
    answer = hms(*command, name)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith(f"hms {command[0]}: {name}")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--trace", "m", "--speedup", "linear"), "speedup (linear) is for times by formula, but m gives the times"),
        (("--trace", "m", "--table", "t.csv"), "m and t.csv both give times per device; leave one out"),
        (("--trace", "m", "--format", "tec"), "unknown format 'tec': did you mean 'etc'"),
        (("--format", "etc"), "format (etc) is that of a trace; give the trace too"),
    ],
)
def test_options_that_do_not_go_together(hms: Hms, options: tuple[str, ...], message: str) -> None:
    Path("m").write_text(ETC)
    Path("t.csv").write_text("task_id,cpu_0\n0,1\n1,1\n2,1\n3,1\n")
    answer = hms("compare", *options)
    assert answer.code == 2
    assert message in answer.err
