"""Python functions through a scheduler on this machine's lanes, as through any executor of the standard library."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from held_lanes import LONG, Held, wait_for

from hybrid_scheduler.executor.call import REMEMBERED
from hybrid_scheduler.executor.executor import Executor
from hybrid_scheduler.hardware.nodes.pickling import RemoteTraceback
from hybrid_scheduler.hardware.nodes.real_node import HungError, LostLaneError
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError, SchedulerError, UnknownNameError
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import Scheduler


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_results_come_back_whatever_is_submitted(executor: Executor) -> None:
    table = np.arange(5.0)
    futures = [
        executor.submit(pow, 2, 10),
        executor.submit(lambda x: x + 1, 41),
        executor.submit(lambda: float(table.sum())),
        executor.submit(partial(int, base=2), "101"),
        executor.submit("-".join, ["a", "b"]),
        executor.submit(np.linalg.norm, np.array([3.0, 4.0])),
        executor.submit(dict, a=1, b=2),
    ]
    assert [future.result(LONG) for future in futures] == [1024, 42, 10.0, 5, "a-b", 5.0, {"a": 1, "b": 2}]
    assert all(type(future).__mro__[1] is concurrent.futures.Future and not future.cancel() for future in futures)


def test_map_keeps_the_order_and_as_completed_hears_of_all(executor: Executor) -> None:
    assert list(executor.map(lambda a, b: a * b, range(50), range(1, 51), chunksize=7)) == [
        i * (i + 1) for i in range(50)
    ]
    futures: dict[concurrent.futures.Future[Any], int] = {executor.submit(divmod, i, 3): i for i in range(20)}
    for future in concurrent.futures.as_completed(futures, LONG):
        assert future.result() == divmod(futures[future], 3)
    assert list(executor.map(len, [])) == []


def test_a_map_that_is_not_done_in_time_says_so_and_takes_the_rest_back(executor: Executor, tmp_path: Path) -> None:
    held = Held(executor, tmp_path, 2)
    results = executor.map(abs, range(10), timeout=0.05)
    with pytest.raises(TimeoutError):
        next(results)
    cancelled = executor.stats().cancelled
    held.release()
    assert executor.submit(abs, -1).result(LONG) == 1
    assert cancelled <= executor.stats().cancelled == 10


def raises(values: dict[str, int]) -> int:
    return values["missing"]


def test_an_error_comes_with_the_traceback_of_its_process(executor: Executor) -> None:
    error = executor.submit(raises, {}).exception(LONG)
    assert isinstance(error, KeyError)
    assert isinstance(error.__cause__, RemoteTraceback)
    assert 'return values["missing"]' in str(error.__cause__)


def test_what_cannot_be_pickled_is_an_error_and_nothing_more(executor: Executor) -> None:
    with pytest.raises(TypeError, match="pickle"):
        executor.submit(abs, threading.Lock()).result(LONG)
    with pytest.raises(TypeError, match="pickle"):
        executor.submit(threading.Lock).result(LONG)
    lock = threading.Lock()
    with pytest.raises(TypeError, match="pickle"):
        executor.submit(lambda: lock)
    assert executor.submit(abs, -3).result(LONG) == 3


def test_waiting_calls_can_be_cancelled_and_running_ones_cannot(executor: Executor, tmp_path: Path) -> None:
    before = executor.stats().cancelled
    held = Held(executor, tmp_path, 2)
    waiting = [executor.submit(abs, i) for i in range(5)]
    called: list[bool] = []
    waiting[1].add_done_callback(lambda future: called.append(future.cancelled()))
    assert [future.cancel() for future in held.futures] == [False, False]
    assert waiting[1].cancel()
    assert waiting[1].cancel()
    assert waiting[3].cancel()
    held.release()
    _, left = concurrent.futures.wait(waiting, LONG)
    assert not left
    assert [future.cancelled() for future in waiting] == [False, True, False, True, False]
    assert called == [True]
    assert executor.submit(abs, 1).result(LONG) == 1
    assert executor.stats().cancelled == before + 2


def test_futures_can_be_awaited(executor: Executor) -> None:
    async def both() -> list[Any]:
        loop = asyncio.get_running_loop()
        one, two = asyncio.wrap_future(executor.submit(abs, -1)), loop.run_in_executor(executor, abs, -2)
        return list(await asyncio.gather(one, two))

    assert asyncio.run(both()) == [1, 2]


def test_a_callback_may_submit(tmp_path: Path) -> None:
    with Executor("sjf", lanes=1, remember=False, max_pending=1) as executor:
        inner: list[concurrent.futures.Future[Any]] = []
        come = threading.Event()

        def again(future: concurrent.futures.Future[Any]) -> None:
            inner.extend(executor.submit(abs, -i) for i in range(1, 4))
            come.set()

        executor.submit(abs, 0).add_done_callback(again)
        assert come.wait(LONG)
        assert [future.result(LONG) for future in inner] == [1, 2, 3]


def test_submit_waits_while_too_many_are_unfinished(tmp_path: Path) -> None:
    with Executor("fcfs", lanes=1, remember=False, max_pending=3) as executor:
        held = Held(executor, tmp_path, 1)
        futures = [executor.submit(abs, i) for i in range(2)]
        submitted = threading.Event()

        def fourth() -> None:
            futures.append(executor.submit(abs, 2))
            submitted.set()

        thread = threading.Thread(target=fourth)
        thread.start()
        assert not submitted.wait(0.1)
        assert executor.stats().unfinished == 3
        held.release()
        assert submitted.wait(LONG)
        thread.join(LONG)
        assert [future.result(LONG) for future in futures] == [0, 1, 2]


def test_a_lane_that_is_killed_costs_a_try(executor: Executor, tmp_path: Path) -> None:
    held = Held(executor, tmp_path, 2)
    for number, pid in enumerate(held.pids):
        (tmp_path / f"begun-{number}").unlink()
        os.kill(pid, signal.SIGKILL)
    for number in range(2):
        wait_for(tmp_path / f"begun-{number}")
    held.go.write_text("go")
    assert not set(held.pids) & {future.result(LONG) for future in held.futures}


def kill_yourself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_call_that_kills_its_lane_each_time_fails_by_name(executor: Executor) -> None:
    with pytest.raises(LostLaneError, match="3 times"):
        executor.submit(kill_yourself).result(LONG)
    assert executor.submit(abs, -1).result(LONG) == 1


def test_a_call_that_hangs_is_ended() -> None:
    with Executor("round_robin", lanes=1, remember=False, limit=0.3) as executor:
        with pytest.raises(HungError, match=r"longer than 0\.3 s"):
            executor.submit(time.sleep, 3 * LONG).result(LONG)
        assert executor.submit(abs, -1).result(LONG) == 1


@pytest.mark.parametrize("name", ["fcfs", "mct", "hybrid_ml", "rl_agent", "round_robin", "greedy"])
def test_other_schedulers_work(name: str) -> None:
    with Executor(name, lanes=2, remember=False) as executor:
        assert list(executor.map(abs, range(-20, 0))) == list(range(20, 0, -1))


def test_schedulers_that_cannot_work_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="nobody knows"):
        Executor("oracle", remember=False)
    with pytest.raises(InvalidInputError, match="come one by one"):
        Executor("heft", remember=False)
    with pytest.raises(UnknownNameError, match="did you mean 'sjf'"):
        Executor("sfj", remember=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "limit is 0"),
        ({"max_pending": 0}, "max_pending is 0"),
        ({"lanes": 0}, "0 CPU lanes are asked for"),
        ({"node": "moon"}, "node is 'moon'"),
    ],
)
def test_a_value_that_is_not_legal_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        Executor(remember=False, **options)


def test_kind_and_size_are_checked(executor: Executor) -> None:
    with pytest.raises(InvalidInputError, match="size is -1"):
        executor.submit(abs, 1, size=-1)
    with pytest.raises(InvalidInputError, match="kind is ''"):
        executor.submit(abs, 1, kind="")
    with pytest.raises(InvalidInputError, match=r"'\\ud800', but .* printable"):
        executor.submit(abs, 1, kind="\ud800")


class Refuses(Scheduler):
    """Decides `good` tasks; then does what it is told."""

    def __init__(self, good: int, then: str) -> None:
        self.good, self.then = good, then

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        if view.number < self.good:
            return [(waiting[0], Decision.whole(0))]
        if self.then == "raises":
            raise ZeroDivisionError("on purpose")
        return [(waiting[0], Decision.whole(17))] if self.then == "illegal" else []


@pytest.mark.parametrize(
    ("then", "said"), [("raises", "on purpose"), ("illegal", "is illegal"), ("holds", "starts none")]
)
def test_a_scheduler_that_fails_fails_every_future_and_later_calls(then: str, said: str) -> None:
    with Executor(Refuses(2, then), lanes=1, remember=False) as executor:
        futures = [executor.submit(abs, i) for i in range(6)]
        errors = [future.exception(LONG) for future in futures]
        assert all(isinstance(error, SchedulerError) and said in str(error) for error in errors[2:])
        with pytest.raises(SchedulerError, match=said):
            executor.submit(abs, 1)


def test_shutdown_takes_waiting_calls_back_and_leaves_no_process(tmp_path: Path) -> None:
    executor = Executor(lanes=2, remember=False)
    held = Held(executor, tmp_path, 2)
    waiting = [executor.submit(abs, i) for i in range(5)]
    executor.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(abs, 1)
    concurrent.futures.wait(waiting, LONG)
    assert all(future.cancelled() for future in waiting)
    held.release()
    executor.shutdown()
    assert all(map(is_gone, held.pids))


def test_a_with_waits_for_every_call_after_an_error_too() -> None:
    futures = []

    def block() -> None:
        with Executor(lanes=2, remember=False) as executor:
            futures.append(executor.submit(abs, -1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert futures[0].result(0.0) == 1


def test_a_with_ends_at_once_after_an_interrupt(tmp_path: Path) -> None:
    futures, pids = [], []

    def block() -> None:
        with Executor(lanes=2, remember=False) as executor:
            held = Held(executor, tmp_path, 2)
            pids.extend(held.pids)
            futures.extend([*held.futures, executor.submit(abs, -1)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        block()
    assert futures[2].cancelled()
    assert all(isinstance(each.exception(0.0), concurrent.futures.CancelledError) for each in futures[:2])
    assert all(map(is_gone, pids))


def make(number: int) -> Callable[[], int]:
    return lambda: number


def test_more_functions_than_a_lane_remembers(executor: Executor) -> None:
    functions = [make(i) for i in range(REMEMBERED + 30)]
    for _ in range(2):
        futures = [executor.submit(function, kind="made") for function in functions]
        assert [future.result(LONG) for future in futures] == list(range(len(functions)))


def odd(number: int) -> object:
    if number % 5 == 1:
        raise ValueError(f"{number} is odd")
    if number % 5 == 2:
        return threading.Lock()
    return np.array([number]) if number % 5 == 3 else number


def bundled(executor: Executor, function: Callable[[int], object]) -> list[concurrent.futures.Future[Any]]:
    """Many calls that wait behind others, of a function that is known to be short."""
    return [executor.submit(function, number, kind="short", size=1) for number in range(40)]


def make_short_known(executor: Executor) -> None:
    for _ in range(4):
        concurrent.futures.wait([executor.submit(abs, 1, kind="short", size=1) for _ in range(4)])


def test_short_calls_travel_together_and_each_has_its_own_end(executor: Executor, tmp_path: Path) -> None:
    make_short_known(executor)
    held = Held(executor, tmp_path, 2)
    decisions, futures = executor.stats().decisions, bundled(executor, odd)
    cancelled = [futures[number] for number in (0, 17)]
    assert all(future.cancel() for future in cancelled)
    held.release()
    concurrent.futures.wait(futures, LONG)
    for number, future in enumerate(futures):
        if future in cancelled:
            assert future.cancelled()
        elif number % 5 == 1:
            error = future.exception()
            assert isinstance(error, ValueError)
            assert str(error) == f"{number} is odd"
            assert "in odd" in str(error.__cause__)
        elif number % 5 == 2:
            assert isinstance(future.exception(), TypeError)
        else:
            assert future.result() == number
    assert executor.stats().decisions - decisions < len(futures)


def deadly(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_short_call_that_kills_its_lane_takes_no_other_along(executor: Executor, tmp_path: Path) -> None:
    make_short_known(executor)
    held = Held(executor, tmp_path, 2)
    futures = bundled(executor, deadly)
    held.release()
    for number, future in enumerate(futures):
        if number == 7:
            assert isinstance(future.exception(LONG), LostLaneError)
        else:
            assert future.result(LONG) == number


def test_a_short_call_whose_arguments_cannot_be_pickled_takes_no_other_along(
    executor: Executor, tmp_path: Path
) -> None:
    make_short_known(executor)
    held = Held(executor, tmp_path, 2)
    values = [threading.Lock() if number == 3 else number for number in range(20)]
    futures = [executor.submit(repr, value, kind="short", size=1) for value in values]
    held.release()
    errors = [future.exception(LONG) for future in futures]
    assert [number for number, error in enumerate(errors) if error is not None] == [3]


class Argument:
    """Travels as nothing."""

    def __reduce__(self) -> tuple[object, ...]:
        return Argument, ()


def test_arguments_are_let_go_of_when_a_call_is_over(executor: Executor) -> None:
    argument = Argument()
    held = weakref.ref(argument)
    executor.submit(callable, argument).result(LONG)
    del argument
    until = time.monotonic() + LONG
    while held() is not None and time.monotonic() < until:  # the thread that placed the call is about to wait again
        time.sleep(0.01)
        gc.collect()
    assert held() is None
