from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.features import feature_matrix
from hybrid_scheduler.learning.forest.time_model import TimeModel
from hybrid_scheduler.model import InvalidInputError, Task, TaskBatch
from hybrid_scheduler.model.device_columns import BACKLOG, QUEUED
from hybrid_scheduler.model.errors import MissingExtraError
from hybrid_scheduler.model.label import LabelBatch
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.cost import FormulaCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.cpu_only import CpuOnly
from hybrid_scheduler.schedulers.gpu_only import GpuOnly
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.mct import MinimumCompletionTime
from hybrid_scheduler.schedulers.oracle import Oracle
from hybrid_scheduler.schedulers.static_forest import StaticForest
from hybrid_scheduler.testing.schedulers import (
    SchedulerFactory,
    check_compiled,
    check_legal,
    check_pickling,
    check_pure,
)
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

NODE = ClusterSpec.default()
UNLIKE = ClusterSpec(
    (
        Device("cpu_0", "cpu"),
        *(Device(f"gpu_{i}", "gpu", speed=speed, bandwidth=4000.0) for i, speed in enumerate((1.0, 1.0, 2.0, 0.5))),
    )
)
NOISY = Physics(cost=FormulaCost("amdahl"), noise=0.2)


@cache
def labels(count: int, preset: str = "mixed", cluster: ClusterSpec = NODE, split: Any = "concurrent") -> LabelBatch:
    tasks = WorkloadGenerator(1001).generate(preset, count, 1.0)
    return World(cluster, Physics(split=split)).timed(tasks).labels()


@cache
def trained() -> HybridML:
    """Treat it as read-only, or copy it."""
    scheduler = HybridML(energy_weight=0.0)
    scheduler.fit(labels(10_000))
    return scheduler


def copy(scheduler: HybridML) -> HybridML:
    found: HybridML = pickle.loads(pickle.dumps(scheduler))
    return found


@cache
def race(load: float, tasks: int = 4000, seed: int = 1) -> Race:
    rate = load * capacity("mixed", World(NODE))
    return Race(WorkloadGenerator(seed).generate("mixed", tasks, rate), World(NODE), seed=seed, warmup=tasks // 2)


def response(found: Race, scheduler: Scheduler) -> float:
    return float(found.counted(found.run(scheduler)).response_time.mean())


def idle_view(**changes: float) -> ClusterView:
    """The default node, with `gpu_0` or `cpu_0` as busy as wanted."""
    devices = NODE.public_table()
    for name, seconds in changes.items():
        devices[NODE.names.index(name), [BACKLOG, QUEUED]] = seconds, 1.0
    return ClusterView(0, 0.0, devices, Physics().facts(), NODE.names)


def same(one: OutcomeBatch, other: OutcomeBatch) -> bool:
    return np.array_equal(one.part_device, other.part_device) and np.array_equal(one.finish_time, other.finish_time)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_near_the_oracle_or_better(load: float) -> None:
    scheduler = copy(trained())
    limit = {0.3: 1.1, 0.6: 1.05, 0.8: 1.05}[load] * response(race(load), Oracle())
    assert response(race(load), scheduler) < limit
    assert scheduler.drifts == 0
    assert scheduler.refit_checks >= 4000 // 50


def test_it_hides_no_constant_policy() -> None:
    found = race(0.6)
    outcomes = found.run(copy(trained()))
    shares = np.bincount(outcomes.part_device, minlength=5) / len(outcomes)
    assert (shares > 0.1).all()
    own = found.counted(outcomes).response_time.mean()
    assert own < 0.8 * response(found, GpuOnly())
    assert own < 0.8 * response(found, CpuOnly())


def test_decisions_depend_on_task_and_queues() -> None:
    scheduler, task = trained(), labels(10_000).tasks[0]
    heavy = replace(task, size=3000.0, compute_intensity=0.95, memory_required=10.0, duration_estimate=1.0)
    light = replace(task, size=100.0, compute_intensity=0.06, memory_required=400.0, duration_estimate=1.0)

    def shares(task: Task, **busy: float) -> dict[str, float]:
        return {NODE.names[part.device]: part.share for part in scheduler.decide(task, idle_view(**busy)).parts}

    assert shares(heavy)["gpu_0"] > 0.75
    assert shares(light)["gpu_0"] < 0.6
    assert "gpu_0" not in shares(heavy, gpu_0=50.0)
    assert shares(light, cpu_0=50.0) == {"gpu_0": 1.0}
    assert shares(light, gpu_0=50.0, gpu_1=50.0, gpu_2=50.0, gpu_3=50.0) == {"cpu_0": 1.0}


def test_without_queues_every_node_looks_idle() -> None:
    blind = HybridML(energy_weight=0.0, use_queues=False)
    blind.fit(labels(2000))
    task = labels(10_000).tasks[0]
    assert blind.decide(task, idle_view(gpu_0=50.0, cpu_0=50.0)) == blind.decide(task, idle_view())


def test_expected_seconds_are_those_of_the_parts() -> None:
    outcomes = race(0.3).run(copy(trained()))
    taken = outcomes.part_end - outcomes.part_start
    assert np.median(np.abs(outcomes.part_expected / taken - 1.0)) < 0.05
    assert (np.bincount(outcomes.part_task) == 2).any()


def test_energy_weight_trades_time_for_energy() -> None:
    thrifty = HybridML(energy_weight=1.0)
    thrifty.fit(labels(2000))
    light = race(0.1, 1000)
    fast, slow = light.run(copy(trained())), light.run(thrifty)
    assert slow.energy.sum() < 0.9 * fast.energy.sum()
    assert slow.response_time.mean() > fast.response_time.mean()


def test_like_devices_share_an_output_until_told_apart() -> None:
    scheduler = copy(trained())
    assert scheduler.model is not None
    assert scheduler.model.groups.tolist() == [0, 1, 1, 1, 1]
    before = scheduler.model.predict(np.array([[500.0, 0.5, 50.0, 0.1, 0.01]]))
    scheduler.model.tell_apart(np.array([[0.0, 1.0, 1.0, 1.5, 1.0]]))
    assert scheduler.model.groups.tolist() == [0, 1, 1, 2, 1]
    assert np.array_equal(scheduler.model.predict(np.array([[500.0, 0.5, 50.0, 0.1, 0.01]])), before)


def shift(scheduler: Scheduler, split: Any = "serial", tasks: int = 500) -> float:
    stream = WorkloadGenerator(1).generate("cpu_favourable", tasks, 1.0)
    found = Race(stream, World(NODE, Physics(split=split)), isolated=True).run(scheduler)
    return float(found.actual_time.sum())


@pytest.mark.parametrize(("use_labels", "limit"), [(True, 1.08), (False, 1.4)])
def test_it_recovers_from_a_shift_that_the_static_forest_does_not(use_labels: bool, limit: float) -> None:
    learner, control = HybridML(use_labels=use_labels), StaticForest()
    for scheduler in (learner, control):
        scheduler.fit(labels(3000, "gpu_favourable", split="serial"))
    optimum = shift(Oracle())
    assert shift(learner) < limit * optimum
    assert learner.drifts == 1
    assert shift(control) > 5.0 * optimum


def test_without_watching_for_drift_it_recovers_later() -> None:
    watching, waiting = HybridML(), HybridML(drift=False)
    for scheduler in (watching, waiting):
        scheduler.fit(labels(3000, "gpu_favourable", split="serial"))
    assert shift(watching, tasks=100) < 0.5 * shift(waiting, tasks=100)


def test_a_small_change_is_taken_in_by_and_by() -> None:
    scheduler, other = copy(trained()), race(0.3).tasks
    timed = World(NODE).timed(other)
    times = timed.realised * 1.12
    for label in replace(timed, realised=times).labels():
        scheduler.teach(label)
    assert scheduler.drifts == 0
    assert sum(version.trees for version in list(scheduler.versions)[1:]) >= 16

    def error(model: TimeModel | None) -> float:
        assert model is not None
        return float(np.abs(model.predict(feature_matrix(other)) - np.log(times.sum(axis=1))).mean())

    assert error(scheduler.model) < 0.75 * error(trained().model)


def test_only_a_refresh_that_replaces_a_tree_is_a_refit() -> None:
    scheduler, found = copy(trained()), race(0.3, 2000)
    found.run(scheduler)
    assert scheduler.refit_checks == 2000 // 50
    assert scheduler.refits < scheduler.refit_checks
    refits = scheduler.take_refits()
    assert len(refits) == scheduler.refits == len(scheduler.versions) - 1
    assert [refit.replaced for refit in refits] == [version.trees for version in list(scheduler.versions)[1:]]
    assert all(1 <= refit.replaced <= refit.trees for refit in refits)
    assert scheduler.take_refits() == (), "each is handed out once"


def test_a_shift_in_the_middle_is_a_refit_soon_after() -> None:
    scheduler = copy(trained())
    timed = World(NODE).timed(race(0.3, 2000).tasks)
    stream = [*list(timed.labels())[:1000], *list(replace(timed, realised=3.0 * timed.realised).labels())[1000:]]
    for label in stream[:1000]:
        scheduler.teach(label)
    before = scheduler.refits
    assert len(scheduler.take_refits()) == before
    for label in stream[1000:1200]:
        scheduler.teach(label)
    refits = scheduler.take_refits()
    assert len(refits) == scheduler.refits - before >= 1
    assert refits[0].reason == "drift"
    assert refits[0].error_before is not None
    assert refits[-1].error_after is not None
    assert refits[-1].error_after < 0.5 * refits[0].error_before
    assert refits[0].error_before == pytest.approx(np.log(3.0), rel=0.2), "errors are of log seconds"


def test_a_race_that_turns_into_another_is_a_refit_within_200_tasks() -> None:
    scheduler = copy(trained())
    race(0.3, 1000).run(scheduler)
    before = len(scheduler.take_refits())
    assert before == scheduler.refits < scheduler.refit_checks
    other = WorkloadGenerator(1).generate("cpu_favourable", 200, 1.0)
    Race(other, World(NODE, Physics(split="serial")), isolated=True).run(scheduler)
    assert len(scheduler.take_refits()) == scheduler.refits - before >= 1


def test_a_cold_start_is_a_refit_without_an_error_before() -> None:
    scheduler = HybridML()
    for label in list(labels(100))[:10]:
        scheduler.teach(label)
    first, second, *_ = scheduler.take_refits()
    assert (first.reason, first.rows, first.replaced, first.error_before) == ("few rows", 1, 32, None)
    assert second.error_before is not None


def test_the_accuracy_stays_up_to_date_while_nothing_is_replaced() -> None:
    scheduler = copy(trained())
    for label in list(labels(10_000))[:50]:  # rows it was trained on: no tree does better
        scheduler.teach(label)
    assert (scheduler.refit_checks, scheduler.refits) == (1, 0)
    assert scheduler.figures()["version"] == 1.0
    assert scheduler.figures()["r2"] != trained().figures()["r2"]


def test_versions_are_numbered_and_bounded() -> None:
    scheduler = HybridML(retrain_interval=1, n_estimators=2, window=20, reservoir=20, refresh_rows=30, drift=False)
    scheduler.fit(labels(100))
    for label in list(labels(3000))[:300]:
        scheduler.teach(label)
    assert scheduler.refits == scheduler.refit_checks == 300
    assert len(scheduler.versions) == 200
    assert [version.number for version in scheduler.versions] == list(range(102, 302))
    assert {version.rows for version in scheduler.versions} == {30}
    assert np.median([version.r2 for version in scheduler.versions]) > 0.5


@pytest.mark.parametrize("use_labels", [True, False])
def test_cold_start(use_labels: bool) -> None:
    found = race(0.6)
    scheduler = HybridML(energy_weight=0.0, use_labels=use_labels)
    own = response(found, scheduler)
    assert own < response(found, GpuOnly())
    assert own < 1.5 * response(found, MinimumCompletionTime())
    assert scheduler.refit_checks > 50


def test_outcomes_of_one_moment_are_told_apart() -> None:
    """Tasks that are decided in one instant with nothing expected look alike but for the task that is handed back."""
    tasks = TaskBatch.from_columns(np.linspace(100.0, 4000.0, 40), np.full(40, 0.9), np.full(40, 50.0))
    scheduler = HybridML(use_labels=False, n_estimators=4)
    learned: dict[float, float] = {}
    scheduler._learn = lambda task, targets: learned.update({task.size: np.exp(np.nanmax(targets))})  # type: ignore[method-assign]
    outcomes = Race(tasks).run(scheduler)
    assert learned == pytest.approx(dict(zip(tasks.size.tolist(), outcomes.actual_time.tolist(), strict=True)))


def test_a_machine_that_is_not_its_twin_is_no_drift() -> None:
    """Labels say what the twin takes; the machine takes a third longer, always, and that is learned, not an alarm."""
    scheduler, found = copy(trained()), race(0.6)
    slower = [replace(device, speed=device.speed / 1.35, bandwidth=device.bandwidth / 1.35) for device in NODE.devices]
    Race(found.tasks, World(ClusterSpec(tuple(slower)))).run(scheduler, labels=False)
    assert scheduler.drifts == 0
    assert scheduler.refits > 0


def test_unlike_gpus_and_noise() -> None:
    rate = 0.6 * 6.0
    tasks = WorkloadGenerator(3).generate("mixed", 3000, rate)
    train = WorkloadGenerator(1003).generate("mixed", 10_000, rate)
    world = World(UNLIKE, NOISY)
    scheduler = HybridML(energy_weight=0.0)
    scheduler.fit(world.timed(train, 1003).labels())
    found = Race(tasks, world, seed=3, warmup=1000)
    assert response(found, scheduler) < 1.2 * response(found, Oracle())
    assert scheduler.drifts == 0


@pytest.mark.parametrize("kind", [HybridML, StaticForest])
def test_saved_loaded_and_continued_it_decides_the_same(kind: type[StaticForest], tmp_path: Path) -> None:
    one = kind(energy_weight=0.0)
    one.fit(labels(2000))
    race(0.6, 1000).run(one)
    one.save_model(tmp_path / "model.npz")
    two = kind(energy_weight=0.0)
    two.load_model(tmp_path / "model.npz")
    later = race(0.6, 1500, seed=2)
    assert same(later.run(one), later.run(two))
    assert list(one.versions)[-1] == list(two.versions)[-1]


def test_the_static_forest_reads_what_hybrid_ml_wrote_but_not_the_other_way(tmp_path: Path) -> None:
    trained().save_model(tmp_path / "h.npz")
    control = StaticForest(energy_weight=0.0)
    control.load_model(tmp_path / "h.npz")
    assert control.n_estimators == trained().n_estimators
    control.save_model(tmp_path / "s.npz")
    with pytest.raises(InvalidInputError, match="saved by static_forest"):
        HybridML().load_model(tmp_path / "s.npz")


def test_a_small_forest_travels_light(tmp_path: Path) -> None:
    scheduler = HybridML(n_estimators=20, max_depth=9, reservoir=2000)
    scheduler.fit(labels(10_000))
    scheduler.save_model(tmp_path / "small.npz")
    assert (tmp_path / "small.npz").stat().st_size < 400_000


def test_files_that_are_no_such_model_are_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    small = HybridML(n_estimators=2)
    small.fit(labels(100))
    small.save_model(good)

    def refused(match: str) -> None:
        with pytest.raises(InvalidInputError, match=match) as caught:
            HybridML().load_model(bad)
        assert str(bad) in str(caught.value)

    refused("cannot be read")
    for contents in (b"", b"nothing", good.read_bytes()[:-300], good.read_bytes()[:100], pickle.dumps({"a": 1})):
        bad.write_bytes(contents)
        refused("not a saved forest scheduler, or the file is damaged")
    np.savez(bad, header=np.frombuffer(b'{"format": "something else"}', np.uint8))
    refused("not a saved forest scheduler")
    with np.load(good) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = bytes(arrays["header"])
    for old, new, match in (
        (b'"version": 1', b'"version": 9', "version 9"),
        (b'"target": "log seconds', b'"target": "gpu fractions', "predicts 'gpu fractions"),
    ):
        np.savez(bad, **{**arrays, "header": np.frombuffer(header.replace(old, new, 1), np.uint8)})
        refused(match)
    np.savez(bad, **{**arrays, "links": arrays["links"] + (10_000 << 8)})
    refused("outside its tree")
    np.savez(bad, **{name: array for name, array in arrays.items() if name != "reservoir"})
    refused("reservoir")


def test_a_model_for_another_number_of_devices_is_refused() -> None:
    three = ClusterSpec.default(2)
    tasks = race(0.3, 1000).tasks
    with pytest.raises(InvalidInputError, match="for 5 devices, but the node has 3"):
        Race(tasks, World(three)).run(copy(trained()), compiled=False)
    with pytest.raises(InvalidInputError, match="for 5 devices, but the node has 3"):
        copy(trained()).teach(labels(10, cluster=three).row(0))


def test_nothing_learned_nothing_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="learned nothing yet"):
        HybridML().save_model(tmp_path / "m.npz")
    with pytest.raises(InvalidInputError, match="no labels"):
        HybridML().fit(LabelBatch(labels(10).tasks.from_tasks([]), np.zeros((0, 5)), np.zeros(0), np.zeros(0)))


@pytest.mark.parametrize(
    ("argument", "value"), [("energy_weight", 1.5), ("retrain_interval", 0), ("window", 0.5), ("congestion", -1.0)]
)
def test_arguments_out_of_range_are_named(argument: str, value: float) -> None:
    with pytest.raises(InvalidInputError, match=argument):
        HybridML(**{argument: value})  # type: ignore[arg-type]


@cache
def boosted() -> HybridML:
    """Treat it as read-only, or copy it."""
    scheduler = HybridML(energy_weight=0.0, predictor="xgboost")
    scheduler.fit(labels(10_000))
    return scheduler


def test_boosted_trees_decide_as_well_as_the_forest() -> None:
    scheduler, found = copy(boosted()), race(0.6, 2000)
    assert scheduler.figures()["r2"] == pytest.approx(1.0, abs=0.005)
    assert response(found, scheduler) < 1.1 * response(found, copy(trained()))
    assert scheduler.refit_checks == 40
    assert 0 < scheduler.refits < 40
    assert len(scheduler.take_refits()) == scheduler.refits


def test_boosted_trees_recover_from_a_shift() -> None:
    learner = HybridML(predictor="xgboost")
    learner.fit(labels(3000, "gpu_favourable", split="serial"))
    assert shift(learner) < 1.2 * shift(Oracle())
    assert learner.drifts >= 1


def test_boosted_trees_are_cloned_explained_saved_and_continued(tmp_path: Path) -> None:
    one = copy(boosted())
    assert one.clone().predictor == "xgboost"
    seconds = one.explain(labels(10_000).tasks[0], idle_view()).seconds
    assert seconds == pytest.approx(labels(10_000).seconds[0], rel=0.2)
    race(0.6, 1000).run(one)
    one.save_model(tmp_path / "model.npz")
    two = HybridML(energy_weight=0.0, predictor="xgboost")
    two.load_model(tmp_path / "model.npz")
    later = race(0.6, 1500, seed=2)
    assert same(later.run(one), later.run(two))
    control = StaticForest(energy_weight=0.0)
    control.load_model(tmp_path / "model.npz")
    assert control.model is not None
    assert control.model.forest.predictor == "xgboost"


@pytest.mark.parametrize(("saved", "asked"), [("forest", "xgboost"), ("xgboost", "forest")])
def test_a_file_of_the_other_predictor_gives_its_rows(saved: str, asked: str, tmp_path: Path) -> None:
    one = HybridML(n_estimators=8, predictor=saved)
    one.fit(labels(2000))
    one.save_model(tmp_path / "model.npz")
    two = HybridML(n_estimators=6, predictor=asked)
    two.load_model(tmp_path / "model.npz")
    assert two.model is not None
    assert (two.predictor, two.model.forest.predictor, two.n_estimators) == (asked, asked, 6)
    assert two.figures()["rows"] == 2000.0
    assert two.decide(labels(10_000).tasks[0], idle_view()).parts


def test_files_without_a_predictor_are_forests() -> None:
    """The packaged model was saved before there was a choice."""
    scheduler = HybridML()
    path = scheduler.packaged_model(idle_view())
    assert path is not None
    scheduler.load_model(path)
    assert scheduler.model is not None
    assert (scheduler.model.forest.predictor, scheduler.n_estimators) == ("forest", 16)


def test_an_unknown_predictor_and_a_missing_library_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="unknown predictor 'xgbost': did you mean 'xgboost'"):
        HybridML(predictor="xgbost")
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingExtraError, match=r"pip install hybrid-ml-scheduler\[xgboost\]"):
        HybridML(predictor="xgboost")


@pytest.mark.parametrize("check", [check_legal, check_pickling, check_pure, check_compiled], ids=lambda c: c.__name__)
def test_boosted_trees_keep_the_contract(check: Callable[[SchedulerFactory], None]) -> None:
    check(lambda: HybridML(predictor="xgboost", n_estimators=4))


@pytest.mark.parametrize("check", [check_legal, check_pickling, check_pure, check_compiled], ids=lambda c: c.__name__)
def test_learning_from_outcomes_alone_keeps_the_contract(check: Callable[[SchedulerFactory], None]) -> None:
    check(lambda: HybridML(use_labels=False, n_estimators=4))
