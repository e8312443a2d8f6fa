"""Tasks that do not fit: `fallback` and `fail`, by example. The GPUs have 100 MB."""

from __future__ import annotations

import pytest
from scripted import CPU, DEVICES, GPU, Scripted, half, played, race, spans, task, whole

from hybrid_scheduler.model import Decision, Part
from hybrid_scheduler.physics.device import Device
from hybrid_scheduler.physics.settings import MemoryPolicy
from hybrid_scheduler.schedulers.registry import create_scheduler


@pytest.mark.parametrize("policy", ["fallback", "fail"])
@pytest.mark.parametrize(("memory", "decision"), [(100.0, whole(GPU)), (200.0, half())])
def test_exactly_full_fits(policy: MemoryPolicy, memory: float, decision: Decision) -> None:
    out = played(race([task(0, memory=memory)], memory_policy=policy), Scripted({0: [decision]}))
    assert not out[0].failed
    assert spans(out[0])[0][0] == "gpu_0"
    assert len(out[0].parts) == len(decision.parts)


@pytest.mark.parametrize(("memory", "decision"), [(100.1, whole(GPU, 3.0)), (200.1, half())])
def test_fallback_takes_the_whole_task_to_the_cpu(memory: float, decision: Decision) -> None:
    tasks = [task(0, memory=memory), task(1)]
    out = played(race(tasks, memory_policy="fallback"), Scripted({0: [decision], 1: [whole(CPU)]}))
    assert spans(out[0]) == [("cpu_0", 0.0, 8.0, False)]
    assert (out[0].gpu_fraction, out[0].gpu_id, out[0].parts[0].share) == (0.0, None, 1.0)
    assert spans(out[1]) == [("cpu_0", 8.0, 16.0, False)]


@pytest.mark.parametrize(("memory", "decision"), [(100.1, whole(GPU)), (200.1, half())])
def test_fail_is_recorded_and_takes_no_time(memory: float, decision: Decision) -> None:
    tasks = [task(0, 1.0, memory=memory), task(1, 0.0, parents=(0,)), task(2, 1.0)]
    out = played(race(tasks, memory_policy="fail"), Scripted({0: [decision], 2: [whole(GPU)]}))
    assert [out[i].failed for i in range(3)] == [True, True, False]
    assert (out[0].parts, out[0].finish_time, out[0].energy, out[0].actual_time) == ((), 1.0, 0.0, 0.0)
    assert out[1].finish_time == 1.0
    assert spans(out[2]) == [("gpu_0", 1.0, 5.0, False)]


def test_fallback_prefers_the_cpu_of_the_same_node_then_the_least_loaded() -> None:
    devices = (
        Device("cpu_0", "cpu", node=1),
        Device("cpu_1", "cpu"),
        Device("gpu_0", "gpu", memory_mb=100.0),
        Device("cpu_2", "cpu"),
        Device("gpu_1", "gpu", memory_mb=100.0, node=2),
    )
    times = dict.fromkeys(range(4), (8.0,) * 5)
    tasks = [task(i, memory=500.0) for i in range(4)]
    script = Scripted({0: [whole(2)], 1: [whole(2)], 2: [whole(4)], 3: [whole(2)]})
    out = played(race(tasks, devices=devices, seconds=times), script)
    assert [out[i].parts[0].device for i in range(4)] == ["cpu_1", "cpu_2", "cpu_0", "cpu_1"]


def test_fallback_without_any_cpu_fails() -> None:
    devices, times = DEVICES[1:], {0: (4.0, 4.0)}
    out = played(race([task(0, memory=101.0)], devices=devices, seconds=times), Scripted({0: [whole(0)]}))
    assert out[0].failed


def test_fallback_while_every_cpu_is_down_fails() -> None:
    out = played(race([task(0, memory=101.0)], [(0.0, "cpu_0", 0.0)]), Scripted({0: [whole(GPU)]}))
    assert out[0].failed


def test_one_part_is_the_whole_task_whatever_rounding_left_of_its_share() -> None:
    """A share may miss 1 by rounding; that must not squeeze a task in that does not fit."""
    nearly = Decision((Part(GPU, 1.0 - 9e-13),))
    out = played(race([task(0, memory=100.0 * (1 + 5e-13))], memory_policy="fail"), Scripted({0: [nearly]}))
    assert out[0].failed


def test_oracle_splits_so_that_it_fits() -> None:
    """160 MB: 60 % fit. The GPU half of 2.4 s and the CPU's 3.2 s beat the CPU's 8 s; 65 % would not fit."""
    out = played(race([task(0, memory=160.0)], seconds={0: (8.0, 4.0, 400.0)}), create_scheduler("oracle"))
    assert [(p.device, p.share) for p in out[0].parts] == [("gpu_0", 0.6), ("cpu_0", pytest.approx(0.4))]


def test_mct_passes_over_a_gpu_that_is_too_small() -> None:
    out = played(race([task(0, memory=101.0), task(1, memory=99.0)]), create_scheduler("mct"))
    assert [out[i].parts[0].device for i in range(2)] == ["cpu_0", "gpu_0"]
