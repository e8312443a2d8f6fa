"""Standard Workload Format: every field that is used, what is filled, and errors that name line and field."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sample_files import SWF, put

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads.readers import swf
from hybrid_scheduler.workloads.readers.swf import SwfReader
from hybrid_scheduler.workloads.recorded import TraceFile


def read(folder: Path, text: str = SWF, seed: int = 1) -> TraceFile:
    return SwfReader().read(put(folder, "log.swf", text), seed)


def test_every_field_that_is_used(tmp_path: Path) -> None:
    file = read(tmp_path)
    tasks = file.tasks
    assert tasks.task_id.tolist() == [1, 2, 4, 5]
    assert tasks.arrival_time.tolist() == [0, 10, 30, 30]
    assert tasks.duration_estimate.tolist() == [100, 50, 25, 10]
    assert file.tasks.width.tolist() == [4, 1, 2, 1]
    assert file.requested_time is not None
    assert np.array_equal(file.requested_time, [600, 300, np.nan, 60], equal_nan=True)
    assert tasks.memory_required.tolist() == pytest.approx([2048 * 4 * 1024 / 1e6, 0, 1024 * 2 * 1024 / 1e6, 0])
    assert [tasks.dependencies_of(i) for i in range(4)] == [(), (), (2,), ()]


def test_what_is_decided_is_said(tmp_path: Path) -> None:
    said = {assumption.rule: assumption for assumption in read(tmp_path, seed=9).assumed}
    assert said["dropped"].tasks == 1
    assert said["width_one"].tasks == 1
    assert said["parent_absent"].tasks == 1
    assert said["memory_zero"].tasks == 2
    assert said["intensity_from_seed"].seed == 9
    assert str(said["intensity_from_seed"]).endswith("(intensity_from_seed, seed 9)")


def test_size_gives_the_time_by_formula(tmp_path: Path) -> None:
    tasks = read(tmp_path).tasks
    by_formula = (tasks.size / 1000.0) ** 1.5 / (tasks.compute_intensity + 0.5)
    assert by_formula.tolist() == pytest.approx(tasks.duration_estimate.tolist())


def test_blocks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(read(tmp_path).tasks)
    monkeypatch.setattr(swf, "BLOCK_BYTES", 7)
    assert list(read(tmp_path).tasks) == whole
    with pytest.raises(InvalidInputError, match=r"line 5: the line has 17 fields"):
        read(tmp_path, SWF.replace(" 900", ""))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" 900", "", r"log\.swf, line 5: the line has 17 fields, but a job has 18; write -1 for what is unknown"),
        (" 900", " 900 900", r"line 5: the line has 19 fields"),
        (" 900", " 9x0", r"line 5, field 9: '9x0' must be a number"),
        (" 900", " nan", r"line 5, field 9: 'nan' must be a number"),
        ("\n2 10", "\n1 10", r"line 4, field 1: job 1 stands in line 3 too; ids are unique"),
        ("\n2 10", "\n-2 10", r"line 4, field 1: -2 must be the number of a job"),
        ("\n2 10", "\n2.5 10", r"line 4, field 1: 2\.5 must be the number of a job"),
        (" 2 60", " 4 60", r"line 6, field 17: the jobs 4 -> 4 wait for each other; break the cycle"),
    ],
)
def test_errors_name_line_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SWF
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path, SWF.replace(old, new))


def test_logs_without_jobs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no job in the file"):
        read(tmp_path, "; nothing\n")
    with pytest.raises(InvalidInputError, match="no job has a run time"):
        read(tmp_path, "1 0 0 -1 " + "-1 " * 14)
