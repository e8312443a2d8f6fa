"""Workflows in WfFormat 1.5, the JSON of WfCommons (Coleman et al., FGCS 128, 2022)."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.workloads.cycles import find_cycle
from hybrid_scheduler.workloads.opening import opened
from hybrid_scheduler.workloads.readers.assumptions import trace_of_jobs
from hybrid_scheduler.workloads.readers.base import Reader
from hybrid_scheduler.workloads.recorded import Assumption, TraceFile

NUMBER = re.compile(r"[._]?(ID)?\d+$")
"""What tells the tasks of one kind apart, at the end of their names."""
FIGURES = Range(0, 1e15)
FILES = "from each parent come the files that it writes and the task reads"
MARKS = (b'"schemaVersion"', b'"workflow"')


class WfFormatReader(Reader):
    """One JSON document per workflow: what depends on what (`specification`), and how long it took (`execution`).

    A task's kind is its name without the number, its width its cores, its memory what the process used. From a parent
    come the files that the parent writes and the task reads.
    """

    title = "WfFormat 1.5 workflow"

    def recognises(self, head: bytes, name: str) -> bool:
        """A JSON object of that schema."""
        return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and any(mark in head for mark in MARKS)

    def read(self, path: Path, seed: int) -> TraceFile:
        """See `Reader.read`."""
        workflow = _within(path, _document(path), "workflow", dict)
        specified = _tasks(path, workflow, "specification")
        executed = _tasks(path, workflow, "execution")
        parents = _parents(path, specified)
        data = _data(path, workflow["specification"], specified, parents)
        number = {name: i for i, name in enumerate(specified)}
        seconds = np.array([_number(path, executed, name, "runtimeInSeconds") for name in specified])
        return trace_of_jobs(
            path,
            seconds,
            seed,
            memory=np.array([_number(path, executed, name, "memoryInBytes", math.nan) for name in specified]) / 1e6,
            width=np.maximum([_number(path, executed, name, "coreCount", 1.0) for name in specified], 1).astype(
                np.int64
            ),
            dependencies=[
                [(number[parent], data[name, parent]) if data else number[parent] for parent in parents[name]]
                for name in specified
            ],
            assumed=[Assumption("data_from_files", FILES, tasks=len({child for child, _ in data}))] if data else (),
            kind=[NUMBER.sub("", str(task.get("name", name))) or "task" for name, task in specified.items()],
        )


def _document(path: Path) -> Any:
    with opened(path) as raw:
        text = raw.read()
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"not readable as JSON: {error.msg}"
        raise InvalidInputError(f"{path}, line {error.lineno}, column {error.colno}: {problem}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: the file is not in UTF-8; save it in that encoding") from error
    except RecursionError as error:
        raise InvalidInputError(f"{path}: the JSON is nested too deeply for a workflow") from error


def _within(path: Path, document: Any, key: str, kind: type, where: str = "") -> Any:
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, kind):
        what = "an object" if kind is dict else "a list"
        raise InvalidInputError(f"{path}: {where}{key} must be {what}, as WfFormat 1.5 has it")
    return value


def _tasks(path: Path, workflow: Any, part: str) -> dict[str, dict[str, Any]]:
    """The tasks of a part by their ids."""
    section = _within(path, workflow, part, dict, "workflow.")
    where = f"workflow.{part}.tasks"
    tasks: dict[str, dict[str, Any]] = {}
    for i, task in enumerate(_within(path, section, "tasks", list, f"workflow.{part}.")):
        name = task.get("id") if isinstance(task, dict) else None
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"{path}: {where}[{i}] has no id; a task needs one, in quotes")
        if name in tasks:
            raise InvalidInputError(f"{path}: {where}[{i}]: the id {name!r} occurs twice; ids are unique")
        tasks[name] = task
    if not tasks:
        raise InvalidInputError(f"{path}: {where} is empty; a workflow has at least one task")
    return tasks


def _parents(path: Path, tasks: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """The parents of each task, by `parents` and `children` alike."""
    parents: dict[str, dict[str, None]] = {name: {} for name in tasks}
    for name, task in tasks.items():
        for key in ("parents", "children"):
            for other in task.get(key) or ():
                if other not in tasks:
                    raise InvalidInputError(
                        f"{path}: task {name!r} names {other!r} among its {key}, but there is no such task; add it or "
                        "remove the name"
                    )
                child, parent = (name, other) if key == "parents" else (other, name)
                parents[child][parent] = None
    loop = find_cycle(parents)
    if loop is not None:
        chain = " -> ".join(map(repr, loop))
        raise InvalidInputError(f"{path}: the tasks {chain} wait for each other; break the cycle")
    return {name: list(of) for name, of in parents.items()}


def _data(
    path: Path, specification: dict[str, Any], tasks: dict[str, dict[str, Any]], parents: dict[str, list[str]]
) -> dict[tuple[str, str], float]:
    """The megabytes that each task gets from each parent: the files one writes and the other reads."""
    sizes: dict[str, float] = {}
    for i, file in enumerate(specification.get("files") or ()):
        size = file.get("sizeInBytes") if isinstance(file, dict) else None
        if isinstance(size, bool) or not isinstance(size, int | float) or not FIGURES.holds(size):
            where = f"workflow.specification.files[{i}]"
            raise InvalidInputError(f"{path}: {where}: sizeInBytes is {size!r}, but it must be {FIGURES}")
        sizes[str(file.get("id"))] = float(size)
    if not sizes:
        return {}
    data: dict[tuple[str, str], float] = {}
    for name, named in parents.items():
        read = set(map(str, tasks[name].get("inputFiles") or ()))
        for parent in named:
            shared = sorted(read.intersection(map(str, tasks[parent].get("outputFiles") or ())))
            for unknown in [file for file in shared if file not in sizes][:1]:
                raise InvalidInputError(
                    f"{path}: task {parent!r} writes {unknown!r} and task {name!r} reads it, but "
                    "workflow.specification.files does not have it; add it or remove the name"
                )
            data[name, parent] = math.fsum(sizes[file] for file in shared) / 1e6
    return data


def _number(
    path: Path, executed: dict[str, dict[str, Any]], name: str, key: str, default: float | None = None
) -> float:
    """A figure of the execution of a task. A time of 0 passes: some systems record whole seconds."""
    if name not in executed:
        raise InvalidInputError(f"{path}: task {name!r} is specified, but workflow.execution.tasks does not have it")
    value = executed[name].get(key)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not FIGURES.holds(value):
        raise InvalidInputError(f"{path}: task {name!r}: {key} is {value!r}, but it must be {FIGURES}")
    return float(value)
