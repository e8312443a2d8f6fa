"""What a scheduler may see, and when: queues as it expected them, no truth, outcomes only after the finish."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import CPU, GPU, OTHER, Scripted, half, played, race, task, whole

from hybrid_scheduler.model import ClusterView, Decision, Outcome, Part, Task
from hybrid_scheduler.model.device_columns import BACKLOG, QUEUED, SINCE
from hybrid_scheduler.model.kernel import MEMORY_POLICY, PENALTY, SPLIT
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import SITUATIONS, CheckedRace, Witness
from hybrid_scheduler.workloads import WorkloadGenerator


def column(view: ClusterView, which: int) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in view.devices[:, which]]


def test_queues_by_example() -> None:
    """GPU: expected 3 and 5 s, really 4 each. CPU: no idea (0), really 8. Looked at after 1, 3.5, 4, 6 and 20 s."""
    looks = {10: 1.0, 11: 3.5, 12: 4.0, 13: 6.0, 14: 20.0}
    script = Scripted(
        {0: [whole(GPU, 3.0)], 1: [whole(GPU, 5.0)], 2: [whole(CPU)], **{i: [whole(OTHER, 0.5)] for i in looks}}
    )
    played(race([task(0), task(1), task(2), *(task(i, at) for i, at in looks.items())]), script)
    seen = {i: [column(script.view_of(i), which)[:2] for which in (QUEUED, SINCE, BACKLOG)] for i in (0, 1, 2, *looks)}
    assert seen[0] == [[0, 0], [None, None], [0, 0]]
    assert seen[1] == [[0, 1], [None, 0.0], [0, 3.0]]
    assert seen[2] == [[0, 2], [None, 0.0], [0, 8.0]]
    assert seen[10] == [[1, 2], [0.0, 0.0], [0.25, 2.0 + 5.0]]
    assert seen[11] == [[1, 2], [0.0, 0.0], [0.25 * 3.5, 0.25 * 3.5 + 5.0]]
    assert seen[12] == [[1, 1], [0.0, 4.0], [1.0, 5.0]]
    assert seen[13] == [[1, 1], [0.0, 4.0], [1.5, 3.0]]
    assert seen[14] == [[0, 0], [None, None], [0, 0]]
    numbers = [script.view_of(i).number for i in (0, 1, 2, *looks)]
    assert numbers == list(range(8))
    assert [script.view_of(i).now for i in looks] == list(looks.values())


def test_serial_cpu_part_that_waits_has_not_started() -> None:
    """GPU part 0 to 2, CPU part 2 to 6, expected 1 and 3 s."""
    split = Decision((Part(GPU, 0.5, 1.0), Part(CPU, 0.5, 3.0)))
    script = Scripted({0: [split], 1: [whole(OTHER)], 2: [whole(OTHER)]})
    played(race([task(0), task(1, 1.0), task(2, 3.0)], split="serial"), script)
    early, late = script.view_of(1), script.view_of(2)
    assert (column(early, QUEUED)[0], column(early, SINCE)[0], column(early, BACKLOG)[0]) == (1, None, 3.0)
    assert (column(late, QUEUED)[0], column(late, SINCE)[0], column(late, BACKLOG)[0]) == (1, 2.0, 2.0)
    assert column(late, QUEUED)[1] == 0


def test_expectation_of_a_task_that_fell_back_stays_with_it() -> None:
    """It was expected to take 1 s on the GPU and 3 s on the CPU; now the CPU has all of it."""
    split = Decision((Part(GPU, 0.5, 1.0), Part(CPU, 0.5, 3.0)))
    script = Scripted({0: [split], 1: [whole(OTHER)]})
    played(race([task(0, memory=500.0), task(1)]), script)
    assert column(script.view_of(1), BACKLOG) == [4.0, 0.0, 0.0]


def test_backlog_does_not_drift() -> None:
    """Running sums of unequal figures, thousands of times, never emptied on the way: still the sum of what is there."""

    tasks = [task(i, 0.5 * i) for i in range(4000)]
    scheduler = Scripted({i: [whole(CPU, 0.1 + 1e-3 * (i % 7))] for i in range(4000)})
    out = race(tasks, seconds=dict.fromkeys(range(4000), (1.0, 4.0, 4.0))).run(scheduler)
    outcomes = list(out)
    for number in (1000, 3999):
        now = tasks[number].arrival_time
        waiting = [o for o in outcomes[:number] if o.parts[0].start > now]
        running = [o for o in outcomes[:number] if o.parts[0].start <= now < o.finish_time]
        ran = now - running[0].parts[0].start
        hoped = running[0].parts[0].expected
        expected = sum(o.parts[0].expected for o in waiting) + (hoped - ran if ran < hoped else 0.25 * ran)
        assert len(waiting) > 400
        assert scheduler.asked[number][1].backlog[0] == pytest.approx(expected, rel=1e-9)


def test_public_facts() -> None:
    script = Scripted({0: [whole(CPU)]})
    played(race([task(0)], split="serial", memory_policy="fail", coexecution_penalty=0.3), script)
    facts = script.view_of(0).facts
    assert (facts[SPLIT], facts[PENALTY], facts[MEMORY_POLICY]) == (1.0, 0.3, 1.0)
    assert script.view_of(0).names == ("cpu_0", "gpu_0", "gpu_1")


def seen_times(name: str) -> tuple[list[tuple[Task, ClusterView]], CheckedRace]:
    race_ = CheckedRace(WorkloadGenerator(5).generate("mixed", 50, 8.0), World(physics=Physics(noise=0.5)), seed=9)
    witness = Witness.of(create_scheduler(name))
    race_.run(witness, compiled=False)
    return witness.asked, race_


def test_ordinary_schedulers_see_no_times() -> None:
    for _, view in seen_times("greedy")[0]:
        assert view.times.shape == (0, 0)
        assert view.free.shape == (0,)


def test_estimates_are_nominal() -> None:
    asked, _ = seen_times("mct")
    for task_, view in asked:
        gpu = task_.duration_estimate / (1 + 3 * task_.compute_intensity) + task_.memory_required / 16_000
        assert view.times[0].tolist() == [0.0] * 5
        assert view.times[1].tolist() == pytest.approx([task_.duration_estimate] + [gpu] * 4)
        assert view.free.shape == (0,)


def test_truth_is_realised_times_and_true_queues() -> None:
    asked, race_ = seen_times("oracle")
    different = 0
    for task_, view in asked:
        truth = [race_.seconds(task_.task_id, name, 1.0) for name in view.names]
        assert view.times.sum(axis=0).tolist() == pytest.approx(truth)
        different += abs(truth[0] - task_.duration_estimate) > 1e-3 * task_.duration_estimate
        assert view.free.shape == (5,)
    assert different > 40


def test_true_queues_by_example() -> None:
    class Knowing(Scripted):
        knows_truth = True

    script = Knowing({0: [whole(GPU, 1.0)], 1: [half()], 2: [whole(OTHER)]})
    played(race([task(0), task(1), task(2, 1.0)]), script)
    assert script.view_of(2).free.tolist() == [4.0, 6.0, 0.0]


def test_duration_estimate_is_for_those_who_declare_it() -> None:
    """SPEC section 4: a trace may carry true durations; without `uses_estimates` a scheduler is not handed them."""

    class Estimating(Scripted):
        uses_estimates = True

    plain, estimating = Scripted({0: [whole(CPU)]}), Estimating({0: [whole(CPU)]})
    for scheduler in (plain, estimating):
        played(race([replace(task(0), duration_estimate=123.0)]), scheduler)
    assert estimating.asked[0][0].duration_estimate == 123.0
    assert plain.asked[0][0].duration_estimate != 123.0


def test_views_are_snapshots() -> None:
    """A view kept for later, or scribbled on, has no part in the simulation."""

    class Vandal(Scripted):
        uses_estimates = True

        def decide(self, task: Task, view: ClusterView) -> Decision:
            decision = super().decide(task, view)
            for array in (view.devices, view.times, view.free, view.facts):
                if array.flags.writeable:
                    array[...] = 77.0
            return decision

    script = {0: [half()], 1: [whole(GPU)], 2: [half()]}
    tasks = [task(0), task(1), task(2, 1.0)]
    race_ = race(tasks, coexecution_penalty=0.5)
    assert played(race_, Vandal(script)) == played(race(tasks, coexecution_penalty=0.5), Scripted(script))
    assert played(race_, create_scheduler("mct")) == played(
        race(tasks, coexecution_penalty=0.5), create_scheduler("mct")
    )


class Diary(Scheduler):
    """Whole tasks here and there, and a record of what was heard before each decision."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.heard: list[Outcome] = []
        self.decided: list[tuple[float, int]] = []

    def decide(self, task: Task, view: ClusterView) -> Decision:
        self.decided.append((view.now, len(self.heard)))
        up = view.cpus() + view.gpus()
        return Decision.whole(up[(7 * task.task_id + self.seed) % len(up)], 1.0)

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        self.heard.append(outcome)


@settings(max_examples=30)
@given(st.sampled_from(sorted(SITUATIONS)), st.integers(0, 50))
def test_outcomes_come_in_order_once_and_not_early(situation: str, seed: int) -> None:
    diary = Diary(seed)
    outcomes = SITUATIONS[situation].race(tasks=60, seed=seed).run(diary)
    assert {o.task_id: o for o in diary.heard} == {o.task_id: o for o in outcomes}
    assert len(diary.heard) == len(outcomes)
    assert [o.finish_time for o in diary.heard] == sorted(o.finish_time for o in diary.heard)
    assert len(diary.decided) > 20
    for now, count in diary.decided:
        assert all(o.finish_time <= now for o in diary.heard[:count])
        # A task that fails by the decision itself ends in the same instant, but after it.
        assert all(o.finish_time > now or (o.failed and o.finish_time == now) for o in diary.heard[count:])


def test_idle_devices_do_not_remember() -> None:
    """After an idle spell the row of a device is as fresh as at the start."""
    script = Scripted({0: [half()], 1: [whole(CPU)]})
    played(race([task(0), task(1, 50.0)]), script)
    assert np.array_equal(script.view_of(0).devices, script.view_of(1).devices, equal_nan=True)
