"""Devices that slow down, fail and come back, with times calculated by hand."""

from __future__ import annotations

import pytest
from scripted import CPU, GPU, OTHER, Scripted, half, played, race, spans, task, whole

from hybrid_scheduler.model import Decision, Outcome, Task
from hybrid_scheduler.schedulers.registry import create_scheduler


def test_slow_down_in_the_middle_of_a_part() -> None:
    """1 s done, 3 s left at half speed: 6 s more. The next one starts at 7, is sped up at 9 after 1 s of its work."""
    changes = [(1.0, "gpu_0", 0.5), (9.0, "gpu_0", 1.0)]
    out = played(race([task(0), task(1)], changes), Scripted({0: [whole(GPU)], 1: [whole(GPU)]}))
    assert spans(out[0]) == [("gpu_0", 0.0, 7.0, False)]
    assert spans(out[1]) == [("gpu_0", 7.0, 12.0, False)]
    assert (out[0].actual_time, out[0].energy, out[1].wait_time) == (7.0, 350.0, 7.0)


def test_speed_up_shortens_the_queue() -> None:
    out = played(race([task(0), task(1)], [(2.0, "cpu_0", 3.0)]), Scripted({0: [whole(CPU)], 1: [whole(CPU)]}))
    assert (out[0].finish_time, out[1].finish_time) == pytest.approx((4.0, 4.0 + 8.0 / 3.0))


def test_only_the_device_itself_changes() -> None:
    out = played(race([task(0)], [(1.0, "gpu_0", 0.25)]), Scripted({0: [half()]}))
    assert spans(out[0]) == [("gpu_0", 0.0, 5.0, False), ("cpu_0", 0.0, 4.0, False)]
    assert out[0].finish_time == 5.0


def test_failure_takes_running_and_waiting_tasks_back() -> None:
    """Task 0 runs on the GPU, task 1 waits there with half of it and runs on the CPU with the other, 2 waits there."""
    script = Scripted({0: [whole(GPU), whole(OTHER)], 1: [half(), whole(OTHER)], 2: [whole(CPU)]})
    out = played(race([task(0), task(1), task(2)], [(1.0, "gpu_0", 0.0)]), script)
    assert spans(out[0]) == [("gpu_0", 0.0, 1.0, True), ("gpu_1", 1.0, 5.0, False)]
    assert spans(out[1]) == [("gpu_0", 1.0, 1.0, True), ("cpu_0", 0.0, 1.0, True), ("gpu_1", 5.0, 9.0, False)]
    assert spans(out[2]) == [("cpu_0", 1.0, 9.0, False)]
    assert [out[i].ready_time for i in range(3)] == [1.0, 1.0, 0.0]
    assert [out[i].arrival_time for i in range(3)] == [0.0, 0.0, 0.0]
    # What was done in vain is paid for, but is no execution time of the task.
    assert [out[i].energy for i in range(3)] == [50.0 * 5, 30.0 * 1 + 50.0 * 4, 30.0 * 8]
    assert [out[i].actual_time for i in range(3)] == [4.0, 4.0, 8.0]
    assert [out[i].wait_time for i in range(3)] == [1.0, 5.0, 1.0]
    view = script.view_of(0, time=1)
    assert view.available.tolist() == [1.0, 0.0, 1.0]
    assert view.queued.tolist() == [1.0, 0.0, 0.0]
    assert view.now == 1.0


def test_finished_part_of_an_unfinished_task_is_void_too() -> None:
    """The GPU half ended at 2; the CPU fails at 3 with the other half: all is done again."""
    out = played(race([task(0)], [(3.0, "cpu_0", 0.0)]), Scripted({0: [half(), whole(GPU)]}))
    assert spans(out[0]) == [("gpu_0", 0.0, 2.0, True), ("cpu_0", 0.0, 3.0, True), ("gpu_0", 3.0, 7.0, False)]
    assert out[0].cost == pytest.approx(0.0001 * 6 + 0.00002 * 3)


def test_device_comes_back() -> None:
    changes = [(1.0, "gpu_0", 0.0), (3.0, "gpu_0", 1.0)]
    script = Scripted({0: [whole(GPU), whole(CPU)], 1: [whole(CPU)], 2: [whole(GPU)]})
    out = played(race([task(0), task(1, 2.0), task(2, 3.0)], changes), script)
    assert script.view_of(1).available.tolist() == [1.0, 0.0, 1.0]
    assert script.view_of(2).available.tolist() == [1.0, 1.0, 1.0]
    assert spans(out[0])[1:] == [("cpu_0", 1.0, 9.0, False)]
    assert spans(out[1]) == [("cpu_0", 9.0, 17.0, False)]
    assert spans(out[2]) == [("gpu_0", 3.0, 7.0, False)]


def test_comes_back_slower() -> None:
    changes = [(1.0, "gpu_0", 0.0), (3.0, "gpu_0", 0.5)]
    out = played(race([task(0, 3.0)], changes), Scripted({0: [whole(GPU)]}))
    assert spans(out[0]) == [("gpu_0", 3.0, 11.0, False)]


def test_all_down_until_one_returns() -> None:
    changes = [(1.0, name, 0.0) for name in ("cpu_0", "gpu_0", "gpu_1")] + [(5.0, "gpu_0", 1.0)]
    script = Scripted({0: [whole(CPU), whole(GPU)], 1: [whole(GPU)], 2: [whole(GPU)]})
    out = played(race([task(0), task(1, 2.0), task(2, 6.0)], changes), script)
    assert spans(out[0]) == [("cpu_0", 0.0, 1.0, True), ("gpu_0", 5.0, 9.0, False)]
    assert spans(out[1]) == [("gpu_0", 9.0, 13.0, False)]
    assert spans(out[2]) == [("gpu_0", 13.0, 17.0, False)]
    assert [out[i].ready_time for i in range(3)] == [5.0, 5.0, 6.0]
    assert not any(o.failed for o in out.values())


def test_all_down_for_ever() -> None:
    """Task 0 is running and fails; so do its child, the child's child, and whoever arrives later. Task 5 was done."""
    tasks = [task(0), task(1, 0.5, parents=(0,)), task(2, 9.0, parents=(1,)), task(3, 4.0), task(5)]
    changes = [(3.0, name, 0.0) for name in ("cpu_0", "gpu_0", "gpu_1")]
    script = Scripted({0: [whole(GPU)], 5: [whole(OTHER)]})
    out = played(race(tasks, changes, seconds={5: (8.0, 4.0, 2.0)}), script)
    assert [o.task_id for o in out.values() if o.failed] == [0, 1, 3, 2]
    assert {i: out[i].finish_time for i in (0, 1, 2, 3, 5)} == {0: 3.0, 1: 3.0, 2: 9.0, 3: 4.0, 5: 2.0}
    assert spans(out[0]) == [("gpu_0", 0.0, 3.0, True)]
    assert (out[0].energy, out[0].actual_time, out[1].parts, out[3].energy) == (150.0, 0.0, (), 0.0)


@pytest.mark.parametrize(("at", "first", "second"), [(1.0, (9.0, 17.0), (1.0, 9.0)), (3.0, (0.0, 6.0), (6.0, 14.0))])
def test_serial_split_and_failure_of_its_gpu(
    at: float, first: tuple[float, float], second: tuple[float, float]
) -> None:
    """GPU part 0 to 2, CPU part 2 to 6, task 1 behind it on the CPU. At 1 all is void; at 3 the GPU is not needed."""
    script = Scripted({0: [half(), whole(CPU)], 1: [whole(CPU)]})
    out = played(race([task(0), task(1)], [(at, "gpu_0", 0.0)], split="serial"), script)
    live = [part for part in out[0].parts if not part.lost]
    assert (live[0].start, live[-1].end) == first
    assert (out[1].parts[0].start, out[1].finish_time) == second
    assert out[0].actual_time == (8.0 if at == 1.0 else 6.0)


def test_serial_cpu_part_moves_with_its_gpu_part() -> None:
    """The GPU part ends at 3 instead of 2; the CPU part, first in its queue, and the one behind it move too."""
    script = Scripted({0: [half()], 1: [whole(CPU)]})
    out = played(race([task(0), task(1)], [(1.0, "gpu_0", 0.5)], split="serial"), script)
    assert spans(out[0]) == [("gpu_0", 0.0, 3.0, False), ("cpu_0", 3.0, 7.0, False)]
    assert spans(out[1]) == [("cpu_0", 7.0, 15.0, False)]


def test_failure_exactly_at_the_end_of_a_part_comes_too_late() -> None:
    out = played(race([task(0)], [(4.0, "gpu_0", 0.0)]), Scripted({0: [whole(GPU)]}))
    assert spans(out[0]) == [("gpu_0", 0.0, 4.0, False)]


def test_disturbance_comes_before_a_decision_of_the_same_time() -> None:
    script = Scripted({0: [whole(CPU)]})
    played(race([task(0, 2.0)], [(2.0, "gpu_0", 0.0)]), script)
    assert script.view_of(0).available.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(("change", "ready"), [((1.0, "gpu_0", 0.0), 9.0), ((1.0, "gpu_0", 0.5), 7.0)])
def test_children_wait_for_a_parent_that_takes_longer(change: tuple[float, str, float], ready: float) -> None:
    """The parent would end at 4; redone on the CPU it ends at 9, slowed down at 7."""
    script = Scripted({0: [whole(GPU), whole(CPU)], 1: [whole(OTHER)]})
    out = played(race([task(0), task(1, 2.0, parents=(0,))], [change]), script)
    assert (out[1].ready_time, out[1].finish_time) == (ready, ready + 4.0)


def test_children_come_earlier_when_a_parent_is_sped_up() -> None:
    out = played(
        race([task(0), task(1, parents=(0,))], [(2.0, "gpu_0", 2.0)]), Scripted({0: [whole(GPU)], 1: [whole(OTHER)]})
    )
    assert (out[0].finish_time, out[1].ready_time) == (3.0, 3.0)


def test_disturbance_after_the_last_decision_still_counts() -> None:
    out = played(race([task(0)], [(1.0, "cpu_0", 0.5), (4.0, "cpu_0", 0.1)]), Scripted({0: [whole(CPU)]}))
    assert out[0].finish_time == pytest.approx(4.0 + 5.5 / 0.1)


def test_oracle_knows_present_speeds_but_not_the_future() -> None:
    """At 2 the GPU has a tenth of its speed: 40 s there, 4 s on the other GPU. At 0 it suspects nothing."""
    changes = [(1.0, "gpu_0", 0.1), (1.5, "cpu_0", 0.0)]
    out = played(race([task(0), task(1, 2.0)], changes, split="serial"), create_scheduler("oracle"))
    assert out[0].parts[0].device == "gpu_0"
    assert spans(out[1]) == [("gpu_1", 2.0, 6.0, False)]


def test_mct_is_told_nothing_of_disturbances() -> None:
    out = played(race([task(0, 2.0)], [(1.0, "gpu_0", 0.1)]), create_scheduler("mct"))
    assert spans(out[0]) == [("gpu_0", 2.0, 42.0, False)]
    assert out[0].parts[0].expected == 4.0


class Watcher(Scripted):
    """Notes when each outcome comes: the number of decisions made before it."""

    def __init__(self, script) -> None:  # type: ignore[no-untyped-def]
        super().__init__(script)
        self.seen: list[tuple[int, float, int]] = []

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        self.seen.append((outcome.task_id, outcome.finish_time, len(self.asked)))


def test_outcomes_of_redone_tasks_come_once_and_late() -> None:
    """Task 0 ends at 2, before the failure at 3; task 1 is redone from 3 to 11; 2 is decided at 5, 3 at 12."""
    script = Watcher({0: [half()], 1: [whole(GPU), whole(CPU)], 2: [whole(OTHER)], 3: [whole(OTHER)]})
    seconds = {0: (4.0, 4.0, 4.0)}
    tasks = [task(0), task(1), task(2, 5.0), task(3, 12.0)]
    played(race(tasks, [(3.0, "gpu_0", 0.0)], seconds=seconds), script)
    assert script.seen == [(0, 2.0, 2), (2, 9.0, 4), (1, 11.0, 4), (3, 16.0, 5)]


def test_isolated_task_that_starts_over_keeps_its_place() -> None:
    """Task 1 runs from 4 on, its GPU fails at 5: it is redone at once, before task 2, and arrived at 4."""
    script = Scripted({0: [whole(GPU)], 1: [whole(GPU), whole(OTHER)], 2: [whole(OTHER)]})
    out = played(race([task(0), task(1), task(2)], [(5.0, "gpu_0", 0.0)], isolated=True), script)
    assert spans(out[1]) == [("gpu_0", 4.0, 5.0, True), ("gpu_1", 5.0, 9.0, False)]
    assert (out[1].arrival_time, out[1].response_time) == (4.0, 5.0)
    assert spans(out[2]) == [("gpu_1", 9.0, 13.0, False)]
