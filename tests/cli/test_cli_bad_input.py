"""Whatever the user gets wrong is one line on standard error and exit code 2; the right thing beside it works."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_answer import Hms

HEADER = "task_id,size,compute_intensity,memory_required,arrival_time,dependencies\n"
GOOD_TRACE = HEADER + '1,500,0.5,50,0.0,[]\n2,900,0.8,90,0.5,"[1]"\n3,200,0.2,20,1.0,[]\n'
GOOD_TABLE = "task_id,cpu_0,gpu_0\n1,2.0,0.5\n2,1.0,3.0\n"
GOOD_CLUSTER = "devices:\n  - {name: cpu_0, kind: cpu}\n  - {name: gpu_0, kind: gpu, speed: 2}\n"

OPTIONS = {
    "unknown scheduler": (["--schedulers", "gredy"], ["--schedulers", "greedy"], "did you mean 'greedy'"),
    "empty scheduler list": (["--schedulers", ""], ["--schedulers", "mct"], "names nobody"),
    "scheduler twice": (["--schedulers", "mct,mct"], ["--schedulers", "mct,greedy"], "'mct' twice"),
    "unknown preset": (["--preset", "mixd"], ["--preset", "mixed"], "did you mean 'mixed'"),
    "negative rate": (["--rate", "-3"], ["--rate", "3"], "'-3'"),
    "rate not a number": (["--rate", "nan"], ["--rate", "1e3"], "'nan'"),
    "rate out of range": (["--rate", "1e300"], ["--rate", "1e9"], "1e+300"),
    "zero load": (["--load", "0"], ["--load", "0.1"], "'0'"),
    "rate and load": (["--rate", "2", "--load", "0.5"], ["--load", "0.5"], "leave one out"),
    "zero tasks": (["--tasks", "0"], ["--tasks", "1"], "'0' must be a whole number"),
    "tasks in words": (["--tasks", "many"], ["--tasks", "7"], "'many'"),
    "more tasks than memory": (["--tasks", "9" * 20], ["--tasks", "9"], "GB"),
    "negative GPUs": (["--gpus", "-1"], ["--gpus", "0"], "'-1'"),
    "too many GPUs": (["--gpus", "5000"], ["--gpus", "9"], "1024"),
    "warm-up of everything": (["--tasks", "5", "--warmup", "5"], ["--tasks", "5", "--warmup", "4"], "from 0 to 4"),
    "negative noise": (["--noise", "-0.1"], ["--noise", "0.1"], "'-0.1'"),
    "unknown split": (["--split", "both"], ["--split", "serial"], "'both' is not one of"),
    "unknown price list": (["--cost", "free"], ["--cost", "electricity"], "'free'"),
    "probability above 1": (["--dependency-prob", "2"], ["--dependency-prob", "0.5"], "'2'"),
    "negative seed": (["--seed", "-1"], ["--seed", "0"], "'-1'"),
    "seed beyond 64 bits": (["--seed", str(2**63)], ["--seed", str(2**63 - 1)], str(2**63)),
    "weight without a number": (["--weights", "money"], ["--weights", "money=1"], "'money' is no goal=number"),
    "unknown goal": (["--weights", "cost=1"], ["--weights", "time=1"], "unknown goal in weights 'cost'"),
    "negative weight": (["--weights", "time=-1"], ["--weights", "time=1"], "time is -1.0, but it must be a number"),
    "no weight above 0": (["--weights", "time=0"], ["--weights", "time=1"], "at least one must be above 0"),
    "weights twice": (
        ["--weights", "time=1", "--energy-weight", "0.5"],
        ["--energy-weight", "0.5"],
        "both say what counts; leave one out",
    ),
    "unknown option": (["--tsks", "5"], ["--tasks", "5"], "--tasks"),
    "option without value": (["--tasks"], ["--tasks", "5"], "requires an argument"),
    "stray argument": (["mct"], [], "mct"),
    "JSON into a folder that is not there": (["--json", "no/such/folder.json"], ["--json", "here.json"], "no/such"),
    "JSON onto a folder": (["--json", "."], ["--json", "here.json"], "directory"),
}

FILES = {
    "no such trace": ("--trace", None, GOOD_TRACE, "no such file"),
    "empty trace": ("--trace", "", GOOD_TRACE, "empty"),
    "trace without tasks": ("--trace", HEADER, GOOD_TRACE, "no task"),
    "duplicate id": ("--trace", GOOD_TRACE + "1,500,0.5,50,2.0,[]\n", GOOD_TRACE, "line 5, column task_id"),
    "missing column": ("--trace", "size,memory_required\n5,5\n", GOOD_TRACE, "'compute_intensity' is missing"),
    "cell that is no number": ("--trace", GOOD_TRACE.replace("900", "big"), GOOD_TRACE, "line 3, column size: 'big'"),
    "intensity 1.7": ("--trace", GOOD_TRACE.replace("0.8", "1.7"), GOOD_TRACE, "'1.7' must be a number from 0 to 1"),
    "cycle": ("--trace", GOOD_TRACE.replace("0.0,[]", '0.0,"[2]"'), GOOD_TRACE, "1 -> 2 -> 1"),
    "unknown parent": ("--trace", GOOD_TRACE.replace("[1]", "[9]"), GOOD_TRACE, "parent 9"),
    "no such table": ("--table", None, GOOD_TABLE, "no such file"),
    "time of zero": ("--table", GOOD_TABLE.replace("0.5", "0"), GOOD_TABLE, "column gpu_0"),
    "no such configuration": ("--config", None, "simulation: {seed: 1}\n", "no such file"),
    "unknown key": ("--config", "physics: {splitt: serial}\n", "physics: {split: serial}\n", "did you mean 'split'"),
    "bad YAML": ("--config", "physics: {split: serial\n", "", "line 2"),
    "date for a seed": ("--config", "simulation: {seed: 2001-99-99}\n", "simulation: {seed: 7}\n", "'2001-99-99'"),
    "tag that is wrong": ("--config", "simulation: {seed: !!int abc}\n", "simulation: {seed: !!int 7}\n", "'abc'"),
    "5000 digits": ("--config", f"simulation: {{seed: {'9' * 5000}}}\n", "", "5000 characters"),
    "100 000 brackets": ("--config", "[" * 100_000, "", "deeper than 20 levels"),
    "key twice": ("--config", "physics: {}\nphysics: {}\n", "physics: {}\n", "in lines 1 and 2"),
    "no such cluster": ("--cluster", None, GOOD_CLUSTER, "no such file"),
    "cluster without devices": ("--cluster", "disturbances: []\n", GOOD_CLUSTER, "'devices' is missing"),
    "device of unknown kind": ("--cluster", GOOD_CLUSTER.replace("kind: gpu", "kind: tpu"), GOOD_CLUSTER, "'tpu'"),
    "device at a crawl": ("--cluster", GOOD_CLUSTER.replace("2}", "1.0e-320}"), GOOD_CLUSTER, "speed is 1e-320"),
    "endless latency": (
        "--cluster",
        GOOD_CLUSTER.replace("2}", "2, latency: 1e308}"),
        GOOD_CLUSTER,
        "latency is 1e+308",
    ),
    "time of an age": ("--table", GOOD_TABLE.replace("0.5", "1e10"), GOOD_TABLE, "column gpu_0"),
    "device without speed": ("--cluster", GOOD_CLUSTER.replace("2}", "0}"), GOOD_CLUSTER, "speed is 0.0"),
}


def is_one_line(err: str, *parts: str) -> bool:
    return err.count("\n") == 1 and err.endswith("\n") and all(part in err for part in parts)


@pytest.mark.parametrize(("bad", "good", "says"), OPTIONS.values(), ids=OPTIONS)
def test_option(hms: Hms, bad: list[str], good: list[str], says: str) -> None:
    answer = hms("compare", *bad)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("hms compare: ")
    assert is_one_line(answer.err, says), answer.err
    beside = hms("compare", *(["--tasks", 20] if "--tasks" not in good else []), *good)
    assert (beside.code, beside.err) == (0, "")
    assert "oracle" in beside.out or "--schedulers" in good


@pytest.mark.parametrize(("option", "bad", "good", "says"), FILES.values(), ids=FILES)
def test_file(hms: Hms, tmp_path: Path, option: str, bad: str | None, good: str, says: str) -> None:
    (tmp_path / "good").write_text(good)
    if bad is not None:
        (tmp_path / "bad").write_text(bad)
    amount = [] if option in ("--trace", "--table") else ["--tasks", 20]
    answer = hms("compare", option, "bad", *amount)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("hms compare: bad")
    assert is_one_line(answer.err, says), answer.err
    assert hms("compare", option, "good", *amount).code == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--trace", "trace.csv", "--preset", "mixed"], "preset (mixed) is for generated tasks"),
        (["--trace", "trace.csv", "--dependency-prob", "0.5"], "dependency_prob (0.5) is for generated tasks"),
        (["--trace", "trace.csv", "--tasks", "4"], "has only 3 tasks"),
        (["--trace", "trace.csv", "--rate", "1e-300"], "tasks per second"),
        (["--table", "table.csv", "--speedup", "linear"], "a table gives the times"),
        (["--table", "table.csv", "--gpus", "2"], "no column for device 'gpu_1'"),
        (["--table", "table.csv", "--trace", "trace.csv"], "no row for task 3"),
        (["--cluster", "cluster.yaml", "--gpus", "2"], "both describe the node"),
    ],
)
def test_options_that_do_not_go_together(hms: Hms, tmp_path: Path, options: list[str], says: str) -> None:
    (tmp_path / "trace.csv").write_text(GOOD_TRACE)
    (tmp_path / "table.csv").write_text(GOOD_TABLE)
    (tmp_path / "cluster.yaml").write_text(GOOD_CLUSTER)
    answer = hms("compare", *options)
    assert (answer.code, answer.out) == (2, "")
    assert is_one_line(answer.err, says), answer.err


def test_a_parent_that_is_cut_off_is_named(hms: Hms, tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(GOOD_TRACE.replace('0.5,"[1]"', '0.5,"[3]"'))
    answer = hms("compare", "--trace", "trace.csv", "--tasks", 2)
    assert answer.code == 2
    assert is_one_line(answer.err, "task 2", "task 3")
    assert hms("compare", "--trace", "trace.csv", "--tasks", 3).code == 0


def test_wrong_environment(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUM_GPUS", "four")
    answer = hms("compare", "--tasks", 5)
    assert answer.code == 2
    assert is_one_line(answer.err, "NUM_GPUS", "'four'")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["comprae"], "Did you mean 'compare'"),
        (["--bogus"], "--bogus"),
        (["generate"], "--out"),
        (["train", "--schedulers", "hybrid_ml", "--generations", "1"], "--generations trains the order"),
        (["generate", "--out", "a.csv", "--size-range", "9,1"], "the lowest comes first"),
        (["generate", "--out", "a.csv", "--size-range", "wide"], "'wide'"),
        (["generate", "--out", "a.csv", "--rate", "-1"], "'-1'"),
        (["generate", "--out", "."], "directory"),
        (["schedulers", "--json", "no/such/file"], "no/such/file"),
    ],
)
def test_other_commands(hms: Hms, arguments: list[str], says: str) -> None:
    answer = hms(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert is_one_line(answer.err, says), answer.err


def test_debugging_shows_where_it_happened(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_DEBUG", "1")
    answer = hms("compare", "--schedulers", "gredy")
    assert answer.code == 2
    assert "Traceback" in answer.err


def test_json_that_cannot_be_written_is_refused_first(hms: Hms, tmp_path: Path) -> None:
    """The check leaves no file behind and spoils none that is there."""
    (tmp_path / "old.json").write_text("{}")
    for name in ("old.json", "new.json"):
        assert hms("compare", "--json", name, "--schedulers", "gredy").code == 2
    assert (tmp_path / "old.json").read_text() == "{}"
    assert not (tmp_path / "new.json").exists()
