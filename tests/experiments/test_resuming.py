"""An interrupted experiment goes on where it stopped, and ends up with the same tables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_experiment import Slow, Small, Varied

from hybrid_scheduler.experiments.base import Record
from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.parts import read_part, write_part
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.model.errors import InvalidInputError


def _diary(folder: Path) -> list[str]:
    return (folder / "diary.txt").read_text().splitlines()


def test_a_point_for_every_value_of_the_parameter(tmp_path: Path) -> None:
    result = run_experiment(Varied(diary=tmp_path), [3, 4], folder=tmp_path)
    document = result.to_json()
    assert "schedulers" not in document
    assert document["parameter"] == "load"
    points = document["points"]
    assert isinstance(points, list)
    assert [point["load"] for point in points] == [0.5, 1.5]
    assert points[1]["schedulers"]["greedy"]["total_time"]["values"] == [5.5, 7.0]
    assert [each["verdict"] for each in points[0]["comparisons"]] == ["worse"]
    assert _diary(tmp_path) == ["prepare 3", "prepare 4", "run 3 0.5", "run 4 0.5", "run 3 1.5", "run 4 1.5"]
    assert (tmp_path / "more.csv").read_text() == "3\n", "one unit writes the experiment's own files"
    assert not list((tmp_path / "parts").glob("prepared-*")), "what was prepared is no longer needed"
    write_result(result, tmp_path)
    assert (tmp_path / "result.csv").read_text().splitlines()[0] == "experiment,load,seed,scheduler,metric,value"


def test_going_on(tmp_path: Path) -> None:
    experiment, said = Varied(diary=tmp_path), list[str]()
    (tmp_path / "stop").touch()
    with pytest.raises(InvalidInputError, match="interrupted"):
        run_experiment(experiment, [1, 2], folder=tmp_path)
    (tmp_path / "stop").unlink()
    result = run_experiment(experiment, [1, 2], folder=tmp_path, say=said.append)
    assert said == ["2 of 4 parts were finished earlier; going on from there"]
    assert _diary(tmp_path).count("run 1 0.5") == 1, "what is finished is not done again"
    assert _diary(tmp_path).count("prepare 1") == 1
    whole = run_experiment(experiment, [1, 2], folder=tmp_path / "whole")
    for name, each in (("resumed", result), ("at_once", whole)):
        write_result(each, tmp_path / name)
    for table in ("result.csv", "summary.csv", "comparisons.csv"):
        assert (tmp_path / "resumed" / table).read_bytes() == (tmp_path / "at_once" / table).read_bytes()


def test_more_seeds_go_on_too(tmp_path: Path) -> None:
    run_experiment(Varied(diary=tmp_path), [1], folder=tmp_path)
    result = run_experiment(Varied(diary=tmp_path), [1, 2], folder=tmp_path)
    assert result.resumed == 2
    assert _diary(tmp_path).count("run 1 0.5") == 1


def test_a_file_that_is_gone_is_made_again(tmp_path: Path) -> None:
    run_experiment(Varied(diary=tmp_path), [1], folder=tmp_path)
    (tmp_path / "more.csv").unlink()
    assert run_experiment(Varied(diary=tmp_path), [1], folder=tmp_path).resumed == 1
    assert (tmp_path / "more.csv").exists()


def test_another_configuration_starts_over_and_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    run_experiment(Varied(diary=tmp_path, tasks=5), [1], folder=tmp_path)
    result = run_experiment(Varied(diary=tmp_path, tasks=6), [1], folder=tmp_path, say=said.append)
    assert result.resumed == 0
    assert [line for line in said if "starting over" in line] == said
    assert len(said) == 1
    assert _diary(tmp_path).count("run 1 0.5") == 2


def test_fresh(tmp_path: Path) -> None:
    run_experiment(Varied(diary=tmp_path), [1], folder=tmp_path)
    assert run_experiment(Varied(diary=tmp_path), [1], folder=tmp_path, fresh=True).resumed == 0


def test_a_damaged_part_is_done_again(tmp_path: Path) -> None:
    first = run_experiment(Small(), [1, 2], folder=tmp_path)
    path = tmp_path / "parts" / "seed-2.npz"
    path.write_bytes(path.read_bytes()[:100])
    second = run_experiment(Small(), [1, 2], folder=tmp_path)
    assert second.resumed == 1
    assert list(second.rows()) == list(first.rows())


def test_a_part_keeps_every_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(1).random((3, 2))
    record = Record(
        7, {"a": {"cost": 0.1 + 0.2}}, {"c": {"a": values[:, 0]}}, {"s": {"x": values}}, {"a": {"us": 1.0}}, "busy"
    )
    write_part(tmp_path / "part.npz", record)
    found = read_part(tmp_path / "part.npz")
    assert found is not None
    assert (found.seed, found.point, found.figures, found.clock) == (7, "busy", record.figures, record.clock)
    assert np.array_equal(found.curves["c"]["a"], values[:, 0])
    assert np.array_equal(found.samples["s"]["x"], values)
    assert [path.name for path in tmp_path.iterdir()] == ["part.npz"], "nothing unfinished is left"


SLOW = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from small_experiment import Slow
from hybrid_scheduler.experiments.runner import run_experiment
if __name__ == "__main__":
    run_experiment(Slow(pause=60.0), range(1, 5), jobs=2, folder=Path({folder!r}))
"""


def test_killed_and_started_again(tmp_path: Path) -> None:
    """A real process is killed outright; its workers leave with it, and the finished parts are good."""
    script = tmp_path / "slow.py"
    script.write_text(SLOW.format(tests=str(Path(__file__).parent), folder=str(tmp_path / "out")))
    process = subprocess.Popen([sys.executable, str(script)], start_new_session=True)
    parts = tmp_path / "out" / "parts"
    deadline = time.monotonic() + 60
    while not list(parts.glob("seed-*.npz")):
        assert time.monotonic() < deadline, "no part was finished"
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while _group_lives(process.pid):
        assert time.monotonic() < deadline, "the workers outlived their parent"
        time.sleep(0.05)
    finished = len(list(parts.glob("seed-*.npz")))
    assert 1 <= finished <= 2
    result = run_experiment(Slow(), range(1, 5), folder=tmp_path / "out")
    assert result.resumed == finished
    assert list(result.rows()) == list(run_experiment(Slow(), range(1, 5)).rows())


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
