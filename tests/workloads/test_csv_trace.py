"""Traces: what is read, what is derived, and one clear line for everything that is wrong."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.model import InvalidInputError, Task, TaskBatch
from hybrid_scheduler.model.task import TASK_RANGES
from hybrid_scheduler.workloads import WorkloadGenerator, read_csv, write_csv

FULL = """\
task_id,size,compute_intensity,memory_required,arrival_time,duration_estimate,dependencies,kind
7,500.0,0.5,20.0,1.5,0.25,[],matmul
3,1000.0,0.25,10.0,0.5,2.0,"[7, 9]",sort
9,250.5,1.0,0.0,1.5,0.125,,matmul
"""


class Write(Protocol):
    def __call__(self, content: str | bytes, name: str = "trace.csv") -> Path: ...


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(content: str | bytes, name: str = "trace.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


def test_every_column_is_read(write: Write) -> None:
    trace = read_csv(write(FULL))
    assert trace.derived == ()
    assert list(trace.tasks) == [
        Task(3, 1000.0, 0.25, 10.0, 0.5, 2.0, (7, 9), "sort"),
        Task(7, 500.0, 0.5, 20.0, 1.5, 0.25, (), "matmul"),
        Task(9, 250.5, 1.0, 0.0, 1.5, 0.125, (), "matmul"),
    ]


def test_absent_columns_are_derived_and_named(write: Write) -> None:
    trace = read_csv(write("note,memory_required,task_size,compute_intensity\nhello,10,1000,0.5\nyou,20,4000,0.3\n"))
    assert trace.derived == ("task_id", "arrival_time", "duration_estimate", "dependencies", "kind")
    first, second = trace.tasks
    assert first == Task(0, 1000.0, 0.5, 10.0, 0.0, 1.0, (), "synthetic")
    assert second.task_id == 1
    assert second.duration_estimate == pytest.approx(8 / 0.8)


MINIMAL = "size,compute_intensity,memory_required\n1000,0.5,10\n2000,0.5,20\n"


@pytest.mark.parametrize(
    "content",
    [
        MINIMAL + "\n  \n\n",
        MINIMAL.rstrip(),
        b"\xef\xbb\xbf" + MINIMAL.encode(),
        MINIMAL.replace("\n", "\r\n"),
        MINIMAL.replace(",", " ,  "),
        ",size,compute_intensity,memory_required,\n0,1000,0.5,10,\n1,2000,0.5,20,\n",
        'size,compute_intensity,memory_required,note\n1000,0.5,10,"two\nlines"\n2000,0.5,20,\n',
    ],
    ids=["blank end", "no last newline", "BOM", "CRLF", "spaces", "unnamed extras", "quoted newline"],
)
def test_harmless_variations_are_read_alike(write: Write, content: str) -> None:
    assert list(read_csv(write(content)).tasks) == list(read_csv(write(MINIMAL, "plain.csv")).tasks)


def test_gzip_is_read_and_written(write: Write, tmp_path: Path) -> None:
    plain = read_csv(write(FULL)).tasks
    assert list(read_csv(write(gzip.compress(FULL.encode()), "packed.csv.gz")).tasks) == list(plain)
    write_csv(tmp_path / "out.csv.gz", plain)
    write_csv(tmp_path / "out.csv", plain)
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == (tmp_path / "out.csv").read_bytes()


figures = {name: st.floats(legal.low, legal.high) for name, legal in TASK_RANGES.items()}


@st.composite
def batches(draw: st.DrawFn) -> TaskBatch:
    ids = draw(st.lists(st.integers(0, 2**53), min_size=1, max_size=12, unique=True))
    tasks, handed = [], draw(st.booleans())
    for i, task_id in enumerate(ids):
        parents: list[Any] = draw(st.lists(st.sampled_from(ids[:i]), unique=True, max_size=3)) if i else []
        if handed:
            parents = [(parent, draw(figures["memory_required"])) for parent in parents]
        kind = draw(st.sampled_from(["synthetic", "matmul", "größe", 'a "b", c', "two\nlines"]))
        tasks.append(
            Task(
                task_id,
                **{name: draw(values) for name, values in figures.items()},  # type: ignore[arg-type]
                dependencies=tuple(parents),
                kind=kind,
            )
        )
    return TaskBatch.from_tasks(tasks)


@given(batches(), st.sampled_from(["t.csv", "t.csv.gz"]))
@settings(max_examples=80, deadline=None)
def test_writing_and_reading_changes_no_bit(
    tmp_path_factory: pytest.TempPathFactory, tasks: TaskBatch, name: str
) -> None:
    path = tmp_path_factory.mktemp("round") / name
    write_csv(path, tasks)
    trace = read_csv(path)
    assert trace.derived == ()
    # repr tells -0.0 from 0.0, which == does not.
    assert list(map(repr, trace.tasks)) == list(map(repr, tasks))


def test_many_rows_are_read_alike(tmp_path: Path) -> None:
    """More rows than are converted at a time."""
    tasks = WorkloadGenerator(1).generate("mixed", 5000, dependency_prob=0.2)
    write_csv(tmp_path / "many.csv", tasks)
    assert list(read_csv(tmp_path / "many.csv").tasks) == list(tasks)


HEADER = "task_id,size,compute_intensity,memory_required,dependencies,kind,arrival_time,duration_estimate\n"
ROW = "0,1000,0.5,10,[],sort,0,1\n"


def changed(**cells: str) -> str:
    names = HEADER.strip().split(",")
    row = dict(zip(names, ["1", "1000", "0.5", "10", "[]", "sort", "0", "1"], strict=True)) | cells
    return HEADER + ROW + ",".join(row[name] for name in names) + "\n"


BAD = {
    "empty": ("", "first line is empty"),
    "blank": ("\n\n", "first line is empty"),
    "header only": (HEADER, "there is a header but no task"),
    "missing column": ("size,memory_required\n1,2\n", "line 1: the required column 'compute_intensity' is missing"),
    "near match": (
        "size,Intensity,memory_required\n1,1,2\n",
        "found: 'size', 'Intensity', 'memory_required'; is 'Intensity' meant?",
    ),
    "semicolons": (MINIMAL.replace(",", ";"), "are the cells separated by commas?"),
    "column twice": ("size,size,compute_intensity,memory_required\n1,1,1,1\n", "line 1: column 'size' occurs twice"),
    "two sizes": (
        "size,task_size,compute_intensity,memory_required\n1,1,1,1\n2,3,1,1\n",
        "line 3, column task_size: 3 is not the size 2; the columns mean the same",
    ),
    "too few cells": (MINIMAL + "1,0.5\n", "line 4: the row has 2 cells, but the header names 3 columns"),
    "too many cells": (MINIMAL + "1,0.5,3,4\n", "line 4: the row has 4 cells"),
    "blank inside": (MINIMAL + "\n1,0.5,3\n", "line 4: the line is blank, but tasks follow it"),
    "not a number": (changed(size="big"), "line 3, column size: 'big' must be a number from "),
    "empty cell": (changed(size=""), "line 3, column size: '' must be a number from "),
    "underscore": (changed(size="1_000"), "line 3, column size: '1_000' must be"),
    "nan": (changed(memory_required="nan"), "line 3, column memory_required: 'nan' must be a number of megabytes"),
    "inf": (changed(arrival_time="inf"), "line 3, column arrival_time: 'inf' must be"),
    "intensity": (changed(compute_intensity="1.7"), "line 3, column compute_intensity: '1.7' must be .* from 0 to 1"),
    "intensity nan": (changed(compute_intensity="NaN"), "line 3, column compute_intensity: 'NaN' must be"),
    "zero size": (changed(size="0"), "line 3, column size: '0' must be a number from "),
    "negative memory": (changed(memory_required="-1"), "line 3, column memory_required: '-1' must be"),
    "negative arrival": (changed(arrival_time="-0.5"), "line 3, column arrival_time: '-0.5' must be"),
    "zero duration": (changed(duration_estimate="0"), "line 3, column duration_estimate: '0' must be"),
    "fraction as id": (changed(task_id="1.5"), "line 3, column task_id: '1.5' must be an integer from 0 to"),
    "negative id": (changed(task_id="-1"), "line 3, column task_id: '-1' must be an integer"),
    "huge id": (changed(task_id="9" * 30), "line 3, column task_id: '9+' must be an integer"),
    "underscore in id": (changed(task_id="1_0"), "line 3, column task_id: '1_0' must be an integer"),
    "id twice": (changed(task_id="0"), "line 3, column task_id: 0 is the id of line 2 too"),
    "no JSON": (changed(dependencies="[0"), r"line 3, column dependencies: '\[0' must be a JSON list"),
    "no list": (changed(dependencies="0"), "line 3, column dependencies: '0' must be a JSON list"),
    "parent is text": (changed(dependencies='"[""0""]"'), "line 3, column dependencies: .* holds '0', but each id"),
    "parent is true": (changed(dependencies="[true]"), "line 3, column dependencies: .* holds 'True', but each id"),
    "parent below 0": (changed(dependencies="[-4]"), "line 3, column dependencies: .* holds '-4', but each id"),
    "data below 0": (
        changed(dependencies='"[[0, -1]]"'),
        r"line 3, column dependencies: '\[\[0, -1\]\]' holds '-1' MB from task 0, but that must be a number",
    ),
    "data is text": (
        changed(dependencies='"[[0, ""x""]]"'),
        "line 3, column dependencies: .* holds 'x' MB from task 0",
    ),
    "triple": (changed(dependencies='"[[0, 1, 2]]"'), r"column dependencies: .* holds '\[0, 1, 2\]', but each id"),
    "unknown parent of data": (
        changed(dependencies='"[[5, 1]]"'),
        "column dependencies: parent 5 is not the id of any",
    ),
    "own data": (changed(dependencies='"[[1, 2]]"'), "column dependencies: the tasks 1 -> 1 wait for each other"),
    "unknown parent": (changed(dependencies="[5]"), "line 3, column dependencies: parent 5 is not the id of any task"),
    "own parent": (changed(dependencies="[1]"), "line 3, column dependencies: the tasks 1 -> 1 wait for each other"),
    "no kind": (changed(kind=" "), "line 3, column kind: '' must be a kind"),
    "open quote": (MINIMAL + '"1,0.5,3\n', "not readable as CSV: unexpected end of data"),
    "not UTF-8": (MINIMAL.encode() + b"\xff\xfe\n", "line 4: the file is not in UTF-8"),
    "UTF-16": (MINIMAL.encode("utf-16"), "line 1: the file is not in UTF-8"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_in_one_line_with_its_place(write: Write, content: str, message: str) -> None:
    assert len(read_csv(write(changed())).tasks) == 2
    path = write(content, "bad.csv")
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_csv(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text


@pytest.mark.parametrize("size", ["1e-30", "1e9"])
def test_a_size_without_a_sensible_duration_is_refused(write: Write, size: str) -> None:
    message = f"line 3, column size: '{size}' must be a number from 0.002 to .*up to 1e.12 with a duration_estimate"
    with pytest.raises(InvalidInputError, match=message):
        read_csv(write(f"size,compute_intensity,memory_required\n5,0.5,1\n{size},0.5,1\n"))


def test_with_a_duration_sizes_may_be_anything_that_was_measured(write: Write) -> None:
    explicit = "size,compute_intensity,memory_required,duration_estimate\n{},0.5,1,2\n"
    assert read_csv(write(explicit.format("1e12"))).tasks.duration_estimate[0] == 2.0
    with pytest.raises(InvalidInputError, match=r"'1e13' must be a number from 1e-06 to 1e\+12$"):
        read_csv(write(explicit.format("1e13")))


def test_a_cycle_is_named_with_the_line_of_its_first_task(write: Write) -> None:
    rows = '0,1,1,1,[],a,0,1\n1,1,1,1,"[0, 3]",a,0,1\n2,1,1,1,[1],a,0,1\n3,1,1,1,[2],a,0,1\n'
    assert len(read_csv(write(HEADER + rows.replace("[0, 3]", "[0, 0]"))).tasks) == 4
    with pytest.raises(InvalidInputError, match="line 3, column dependencies: the tasks ") as caught:
        read_csv(write(HEADER + rows))
    assert any(loop in str(caught.value) for loop in ("1 -> 3 -> 2 -> 1", "3 -> 2 -> 1 -> 3", "2 -> 1 -> 3 -> 2"))


def test_the_first_of_several_faults_is_named_wherever_the_chunks_end(write: Write) -> None:
    good = "5,0.5,1\n" * 3000
    content = "size,compute_intensity,memory_required\n" + good + "5,0.5,x\n5,7,1\n0,0.5,1\n"
    with pytest.raises(InvalidInputError, match="line 3002, column memory_required: 'x'"):
        read_csv(write(content))


def test_lines_count_those_inside_quotes(write: Write) -> None:
    content = 'note,size,compute_intensity,memory_required\n"two\nlines",5,0.5,1\n"two\nlines",-5,0.5,1\n'
    with pytest.raises(InvalidInputError, match="line 4, column size: '-5'"):
        read_csv(write(content))


def test_ids_are_read_as_integers_are_and_only_the_bad_one_is_named(write: Write) -> None:
    head = "task_id,size,compute_intensity,memory_required\n"
    assert read_csv(write(head + "+5,1,1,1\n 007,1,1,1\n")).tasks.task_id.tolist() == [5, 7]
    with pytest.raises(InvalidInputError, match="line 4, column task_id: '-7'"):
        read_csv(write(head + "+5,1,1,1\n 007,1,1,1\n-7,1,1,1\n"))


def test_the_alias_is_called_as_in_the_file(write: Write) -> None:
    with pytest.raises(InvalidInputError, match="line 2, column task_size: 'x'"):
        read_csv(write("task_size,compute_intensity,memory_required\nx,0.5,1\n"))


def test_files_that_cannot_be_opened(tmp_path: Path, write: Write) -> None:
    with pytest.raises(InvalidInputError, match="there is no such file"):
        read_csv(tmp_path / "absent.csv")
    with pytest.raises(InvalidInputError, match="this is a directory"):
        read_csv(tmp_path)
    with pytest.raises(InvalidInputError, match="not a complete gzip file"):
        read_csv(write(MINIMAL, "plain.csv.gz"))
    with pytest.raises(InvalidInputError, match="not a complete gzip file"):
        read_csv(write(gzip.compress(MINIMAL.encode())[:-12], "cut.csv.gz"))


def test_files_that_cannot_be_written(tmp_path: Path, write: Write) -> None:
    tasks = read_csv(write(MINIMAL)).tasks
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_csv(tmp_path, tasks)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_csv(tmp_path / "trace.csv" / "below.csv", tasks)


def test_numbers_are_read_as_python_reads_them(write: Write) -> None:
    tasks = read_csv(write("size,compute_intensity,memory_required\n1e3,.5,0.1\n+2.5,1,1E-3\n")).tasks
    assert tasks.size.tolist() == [1000.0, 2.5]
    assert tasks.memory_required.tolist() == [0.1, 0.001]
    assert math.isclose(tasks.duration_estimate[0], 1.0)
    assert tasks.size.dtype == np.float64
