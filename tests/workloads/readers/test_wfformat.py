"""Workflows: graph, times and memory are read, and a broken document is told by name."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_files import WORKFLOW, put

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads.readers.wfformat import WfFormatReader
from hybrid_scheduler.workloads.recorded import TraceFile


def read(folder: Path, document: object) -> TraceFile:
    return WfFormatReader().read(put(folder, "w.json", json.dumps(document)), 1)


def test_graph_times_and_memory(tmp_path: Path) -> None:
    file = read(tmp_path, WORKFLOW)
    tasks = file.tasks
    assert tasks.duration_estimate.tolist() == [1.0, 2.5, 4.0, 0.001]
    assert tasks.memory_required.tolist() == [0, 1, 3, 0]
    assert [tasks.dependencies_of(i) for i in range(4)] == [(), (0,), (0,), (1, 2)]
    assert [task.kind for task in tasks] == ["split", "work", "work", "join"]
    assert file.width is not None
    assert file.width.tolist() == [1, 1, 2, 1]
    said = {assumption.rule: assumption.tasks for assumption in file.assumed}
    assert said["least_time"] == 1
    assert said["memory_zero"] == 2
    assert "arrive_together" in said


Change = Callable[[Any, Any], object]
"""Changes the specified tasks and the executed tasks of a workflow."""


def _cycle(tasks: Any, run: Any) -> None:
    tasks[0]["parents"] = ["join_4"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_cycle, r"w\.json: the tasks '(\w+)'.* -> '\1' wait for each other; break the cycle"),
        (
            lambda tasks, run: tasks[1]["parents"].append("ghost"),
            "task 'work_ID2' names 'ghost' among its parents, but",
        ),
        (lambda tasks, run: tasks[1]["children"].append("ghost"), "task 'work_ID2' names 'ghost' among its children"),
        (lambda tasks, run: run.pop(0), "task 'join_4' is specified, but workflow.execution.tasks does not have it"),
        (
            lambda tasks, run: run[1].update(runtimeInSeconds=-1),
            "task 'work_ID3': runtimeInSeconds is -1, but it must be",
        ),
        (lambda tasks, run: run[1].pop("runtimeInSeconds"), "task 'work_ID3': runtimeInSeconds is None"),
        (lambda tasks, run: run[1].update(memoryInBytes="much"), "task 'work_ID3': memoryInBytes is 'much'"),
        (lambda tasks, run: tasks[2].update(id="join_4"), "the id 'join_4' occurs twice"),
        (lambda tasks, run: tasks[2].pop("id"), r"workflow\.specification\.tasks\[2\] has no id"),
        (lambda tasks, run: tasks.clear(), r"workflow\.specification\.tasks is empty"),
    ],
)
def test_broken_workflows(tmp_path: Path, change: Change, message: str) -> None:
    document: Any = copy.deepcopy(WORKFLOW)
    change(document["workflow"]["specification"]["tasks"], document["workflow"]["execution"]["tasks"])
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path, document)


def test_a_child_named_by_one_side_only_still_waits(tmp_path: Path) -> None:
    document: Any = copy.deepcopy(WORKFLOW)
    document["workflow"]["specification"]["tasks"][3]["parents"] = []
    assert read(tmp_path, document).tasks.dependencies_of(3) == (1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"workflow":\n {"specification": ]}', r"w\.json, line 2, column 20: not readable as JSON: Expecting value"),
        ('{"workflow": 3}', "workflow must be an object"),
        ('{"workflow": {"specification": {"tasks": {}}}}', r"workflow\.specification\.tasks must be a list"),
        ("[" * 100_000, "nested too deeply"),
        (b'{"workflow": "\xff"}', "not in UTF-8"),
    ],
)
def test_broken_documents(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        WfFormatReader().read(put(tmp_path, "w.json", text), 1)


def handing(**sizes: object) -> Any:
    """The workflow with files: `a` and `b` from the first task, of which one is read by both, `c` from the second."""
    document: Any = copy.deepcopy(WORKFLOW)
    specification = document["workflow"]["specification"]
    specification["files"] = [{"id": name, "sizeInBytes": size} for name, size in sizes.items()]
    made: tuple[list[str], ...] = (["a", "b"], ["c"], [], [])
    used = (["raw"], ["a", "b"], ["b"], ["c"])
    for task, outputs, inputs in zip(specification["tasks"], made, used, strict=True):
        task |= {"outputFiles": outputs, "inputFiles": inputs}
    return document


def test_files_are_the_data_on_edges(tmp_path: Path) -> None:
    file = read(tmp_path, handing(a=1_500_000, b=250_000, c=0, raw=7))
    assert [file.tasks.dependency_mb_of(i) for i in range(4)] == [(), (1.75,), (0.25,), (0.0, 0.0)]
    assert "data_from_files" in {assumption.rule for assumption in file.assumed}
    assert not len(read(tmp_path, WORKFLOW).tasks.parent_mb)


def test_broken_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="task 'split_ID0000001' writes 'b' and task 'work_ID2' reads it, but"):
        read(tmp_path, handing(a=1, c=0))
    with pytest.raises(InvalidInputError, match=r"specification\.files\[1\]: sizeInBytes is -4, but it must be"):
        read(tmp_path, handing(a=1, b=-4))
