"""The graph of tasks that depend on each other, and why the last of them ended when it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from raced_history import CLUSTER, RACERS, make_tasks, store_race
from running_service import Service

from hybrid_scheduler.server.task_graph import critical_path, graph_tasks
from hybrid_scheduler.store import ComparedTask, PartRow, ResultRow, RunRow, Store, TaskRow
from hybrid_scheduler.testing.store.samples import SCHEDULERS, begin, sample

T = TypeVar("T")
Part = tuple[str, float, float]


def task(task_id: int, ran: list[Part], parents: Any = (), *, arrival: float = 0.0, **given: Any) -> ComparedTask:
    """A finished task: its parts as device, start, end."""
    rows = tuple(PartRow(device, 1 / len(ran), start, end, None) for device, start, end in ran)
    end = max((part.end for part in rows), default=arrival)
    result = ResultRow(task_id, "greedy", 0.0, None, 1.0, 0.0, 1.0, end, 1.0, 1.0, False, rows)
    row = TaskRow(task_id, 1, 100.0, 0.5, 10.0, arrival, tuple(parents), None, "matmul")
    return ComparedTask(row, (result._replace(**given),))


def path(*tasks: ComparedTask) -> list[tuple[int, str | None]]:
    return [(step.task_id, step.waited_for) for step in critical_path(tasks)]


def test_the_path_goes_back_over_parents_and_occupied_devices() -> None:
    tasks = [
        task(1, [("gpu_0", 0, 2)]),
        task(2, [("cpu_0", 2, 6)], [1]),
        task(3, [("gpu_0", 2, 7)]),  # on the device that 4 wants, longer than 4's parent
        task(4, [("gpu_0", 7, 8)], [1, 2]),
        task(5, [("cpu_0", 8, 9)], [4]),
        task(6, [("cpu_0", 6, 6.5)], [1]),
    ]
    assert path(*tasks) == [(1, None), (3, "device"), (4, "device"), (5, "parent")]
    first = critical_path(tasks)[0]
    assert (first.device, first.start, first.end) == ("gpu_0", 0, 2)
    # Without what occupied the device, the wait remains and the parent explains it.
    assert path(*(each for each in tasks if each.task.task_id != 3)) == [
        (1, None),
        (2, "parent"),
        (4, "parent"),
        (5, "parent"),
    ]


def test_a_parent_explains_more_than_a_device_that_was_free_at_the_same_moment() -> None:
    third = 0.1 + 0.2  # not 0.3
    tasks = [task(1, [("gpu_0", 0, 0.3)]), task(2, [("cpu_0", 0, third)]), task(3, [("cpu_0", third, 1)], [1])]
    assert path(*tasks) == [(1, None), (3, "parent")]


def test_a_task_that_came_later_than_all_others_ended_waited_for_nobody() -> None:
    assert path(task(1, [("cpu_0", 0, 2)]), task(2, [("cpu_0", 3, 4)], [1], arrival=3)) == [(2, None)]


def test_parts_that_follow_each_other_are_one_task_of_the_path() -> None:
    """A serial split: the CPU's part begins when the GPU's has ended, which began when the parent had ended."""
    tasks = [
        task(1, [("cpu_0", 0, 2)]),
        task(2, [("cpu_0", 2, 4.5)]),
        task(3, [("gpu_0", 2, 5), ("cpu_0", 5, 6)], [1]),
    ]
    assert path(*tasks) == [(1, None), (3, "parent")]
    assert critical_path(tasks)[-1][1:4] == ("cpu_0", 2, 6)


def test_a_wide_task_waits_for_the_last_of_its_devices() -> None:
    tasks = [
        task(1, [("gpu_0", 0, 1)]),
        task(2, [("gpu_1", 0, 4)]),
        task(3, [("gpu_0", 4, 6), ("gpu_1", 4, 5)], [1]),
    ]
    assert path(*tasks) == [(2, None), (3, "device")]


def test_what_failed_or_was_lost_is_not_on_the_path() -> None:
    lost = (PartRow("cpu_0", 1.0, 0.0, 50.0, None, lost=True), PartRow("gpu_0", 1.0, 0.0, 1.0, None))
    tasks = [task(1, [("gpu_0", 0, 1)], parts=lost), task(2, [("cpu_0", 3, 9)], [1], failed=True)]
    assert path(*tasks) == [(1, None)]
    assert [(each["start"], each["end"]) for each in graph_tasks(tasks)] == [(0.0, 1.0), (None, None)]
    assert path(tasks[1]) == []


def test_tasks_that_take_no_time_do_not_wait_in_circles() -> None:
    assert path(task(1, [("cpu_0", 1, 1)]), task(2, [("cpu_0", 1, 1)], [1])) == [(1, None), (2, "parent")]


def test_parents_with_and_without_data() -> None:
    plain, pairs = graph_tasks([task(3, [], [1, 2]), task(4, [], [[1, 2.5], [3, 0.0]])])
    assert plain["parents"] == [{"task_id": 1, "megabytes": None}, {"task_id": 2, "megabytes": None}]
    assert pairs["parents"] == [{"task_id": 1, "megabytes": 2.5}, {"task_id": 3, "megabytes": 0.0}]


def with_store(service: Service, work: Callable[[Store], Awaitable[T]]) -> T:
    return service.run(lambda: work(service.store_access.store))


def get(service: Service, status: int = 200, **parameters: Any) -> Any:
    answer = service.client.get("/api/graph", params=parameters)
    assert answer.status_code == status, answer.text
    return answer.json()


def raced(service: Service, count: int = 60, dependency_prob: float = 0.3) -> RunRow:
    tasks = make_tasks(count, rate=20.0, dependency_prob=dependency_prob)
    return with_store(service, lambda store: store_race(store, tasks))


@pytest.mark.parametrize("deployed", ["sqlite", "postgresql"], indirect=True)
def test_the_api_gives_the_connected_tasks_of_a_run(deployed: Service) -> None:
    run = raced(deployed)
    stored = {
        each.task.task_id: each for each in with_store(deployed, lambda store: store.comparative(1000, None, "greedy"))
    }
    children = {number for number, each in stored.items() if each.task.dependencies}
    parents = {parent for each in stored.values() for parent in each.task.dependencies}
    answer = get(deployed, scheduler="greedy")
    assert (answer["run_id"], answer["searched"], answer["next_cursor"]) == (run.id, 60, None)
    assert answer["devices"] == list(CLUSTER.names)
    tasks = {each["task_id"]: each for each in answer["tasks"]}
    assert set(tasks) == children | parents != set(stored)
    for number, shown in tasks.items():
        task, (result,) = stored[number]
        assert tuple(parent["task_id"] for parent in shown["parents"]) == task.dependencies
        assert shown["end"] == result.finish_time
        assert [part["device"] for part in shown["parts"]] == [part.device for part in result.parts]
    steps = answer["critical_path"]
    assert steps[-1]["end"] == max(each["end"] for each in answer["tasks"])
    assert len(steps) > 2
    for before, step in pairwise(steps):
        assert step["start"] >= before["end"] - 1e-9
        parent = before["task_id"] in stored[step["task_id"]].task.dependencies
        assert parent == (step["waited_for"] == "parent")
    assert [step["waited_for"] is None for step in steps] == [True] + [False] * (len(steps) - 1)
    # Another scheduler placed the same tasks elsewhere.
    other = get(deployed, scheduler="cpu_only", run_id=run.id)
    assert {each["task_id"] for each in other["tasks"]} == set(tasks)
    assert {part["device"] for each in other["tasks"] for part in each["parts"]} == {"cpu_0"}


def test_pages_hold_every_child_with_its_parents(service: Service) -> None:
    run = raced(service)
    whole = get(service, scheduler=RACERS[0], limit=500)
    children = {each["task_id"] for each in whole["tasks"] if each["parents"]}
    found: set[int] = set()
    before: dict[str, int] = {}
    while True:
        page = get(service, scheduler=RACERS[0], run_id=run.id, limit=7, **before)
        here = {each["task_id"] for each in page["tasks"]}
        assert 0 < len(here) <= 7
        whole_here = {
            each["task_id"]
            for each in page["tasks"]
            if each["parents"] and {parent["task_id"] for parent in each["parents"]} <= here
        }
        assert not before or max(whole_here) < before["before"]
        found |= whole_here
        if page["next_cursor"] is None:
            break
        before = {"before": page["next_cursor"]}
    assert found == children
    (alone,) = get(service, scheduler=RACERS[0], limit=1)["tasks"]
    assert alone["task_id"] == max(children)


def test_tasks_that_do_not_depend_on_each_other_are_no_graph(service: Service) -> None:
    assert get(service, scheduler="greedy") == {
        "run_id": None,
        "scheduler_name": "greedy",
        "devices": [],
        "searched": 0,
        "tasks": [],
        "critical_path": [],
        "next_cursor": None,
    }
    run = raced(service, 20, 0.0)
    answer = get(service, scheduler="greedy", run_id=run.id)
    assert (answer["searched"], answer["tasks"], answer["critical_path"]) == (20, [], [])
    assert get(service, scheduler="nobody", run_id=run.id)["tasks"] == []


def test_parents_of_an_earlier_run_are_named_and_not_drawn(service: Service) -> None:
    async def work(store: Store) -> tuple[RunRow, RunRow]:
        first, second = await begin(store, 3), await begin(store)
        await store.write(sample(first, range(3)))
        await store.write(sample(second, range(1)))
        batch = sample(second, [4])
        foreign = batch.tasks[0]._replace(dependencies=(first.first_task_id, second.first_task_id))
        await store.write(batch._replace(tasks=[foreign]))
        return first, second

    first, second = with_store(service, work)
    answer = get(service, scheduler=SCHEDULERS[0])
    assert answer["run_id"] == second.id
    assert [each["task_id"] for each in answer["tasks"]] == [second.first_task_id, second.first_task_id + 4]
    assert [parent["task_id"] for parent in answer["tasks"][1]["parents"]] == [
        first.first_task_id,
        second.first_task_id,
    ]


REFUSED: list[tuple[int, dict[str, Any]]] = [
    (422, {}),
    (422, {"scheduler": ""}),
    (422, {"scheduler": "x" * 101}),
    (422, {"scheduler": "greedy", "limit": 0}),
    (422, {"scheduler": "greedy", "limit": 501}),
    (422, {"scheduler": "greedy", "before": -1}),
    (422, {"scheduler": "greedy", "run_id": 2**60}),
    (404, {"scheduler": "greedy", "run_id": 999}),
]


def test_bad_questions_are_refused(service: Service) -> None:
    for status, parameters in REFUSED:
        assert get(service, status, **parameters)["error"]["message"], parameters
