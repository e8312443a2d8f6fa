"""Scenarios of task graphs: how many, when they come, live too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.task import split_dependencies
from hybrid_scheduler.scenario import GraphTasks, Load, Rate, Scenario, ScenarioOptions


def scenario_of(config: Config | None = None, **options: object) -> Scenario:
    return ScenarioOptions(**options).scenario(config or Config())  # type: ignore[arg-type]


def test_nobody_says_how_many_so_it_is_one_graph_at_once() -> None:
    scenario = scenario_of(preset="cholesky:tiles=4")
    assert (scenario.count, len(scenario.batch()), scenario.preset) == (20, 20, "cholesky:tiles=4")
    assert not scenario.batch().arrival_time.any()
    assert (scenario.rate, scenario.load, scenario.notes) == (None, None, ())
    facts = scenario.facts()
    assert (facts["preset"], facts["arrival_rate"], facts["load"]) == ("cholesky:tiles=4", None, None)
    assert facts["graph"] == {"tiles": 4, "tile": 960, "bytes": 8, "tasks": 20}


def test_a_rate_for_one_graph_changes_nothing_and_says_so() -> None:
    scenario = scenario_of(preset="cholesky:tiles=4", tasks=20, rate=3.0)
    assert scenario.batch().arrival_time.max() == 0.0
    assert scenario.facts()["arrival_rate"] is None
    assert scenario.notes == (
        "one graph of 20 tasks arrives at once; rate and load change nothing, more tasks make a stream",
    )


def test_more_tasks_are_a_stream_of_graphs_at_the_load() -> None:
    scenario = scenario_of(preset="cholesky:tiles=4", tasks=20 * 400 - 3, load=0.5)
    tasks = scenario.batch()
    assert (scenario.count, len(tasks), scenario.notes) == (8000, 8000, ())
    assert scenario.load == pytest.approx(0.5)
    assert scenario.facts()["load"] == pytest.approx(0.5)
    assert scenario.rate == pytest.approx(0.5 * scenario.capacity)
    assert scenario.rate == pytest.approx(399 * 20 / tasks.arrival_time[-1], rel=0.15)
    assert scenario_of(preset="cholesky:tiles=4", tasks=40).arrivals == Load(0.6)
    assert scenario_of(preset="cholesky:tiles=4", tasks=40, rate=7.0).arrivals == Rate(7.0)


def test_a_file_may_say_so() -> None:
    config = Config.model_validate({"workload": {"preset": "lu:tiles=3", "num_tasks": 30}})
    assert scenario_of(config).source == GraphTasks("lu:tiles=3")
    assert scenario_of(config).count == 42
    with pytest.raises(ValueError, match="unknown parameter of preset lu 'tlies'"):
        Config.model_validate({"workload": {"preset": "lu:tlies=3"}})


@pytest.mark.parametrize(
    "options", [{"size_range": (1.0, 2.0)}, {"dependency_prob": 0.1}, {"max_dependencies": 2}, {"memory_range": (1, 2)}]
)
def test_what_is_for_single_tasks_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=rf"{next(iter(options))} .* is for single tasks, but preset qr makes"):
        scenario_of(None, preset="qr", **options)


def test_training_takes_other_graphs_of_the_kind() -> None:
    scenario = scenario_of(preset="layered:layers=3,width=4")
    other = scenario.training(30)
    assert (len(scenario.batch()), len(other.batch())) == (12, 36)
    assert not np.isin(other.batch().size[:12], scenario.batch().size).any()


def test_live_graphs_go_on_without_an_end() -> None:
    stream = Scenario(GraphTasks("fork_join:stages=1,width=2"), arrivals=Rate(4.0), seed=3).stream()
    arrived, edges, first = [], 0, 0
    while first < 4000:
        some = stream.until(np.inf, 7, first)  # a graph may come in two pieces
        assert some is not None
        arrived.append(some.tasks.arrival_time)
        edges += sum(map(len, some.parents.values()))
        for child, parents in some.parents.items():
            for parent in split_dependencies(parents)[0]:
                assert parent < child
                assert parent // 4 == child // 4
        first += len(some.tasks)
    times = np.concatenate(arrived)[:4000].reshape(1000, 4)
    assert (times == times[:, :1]).all()
    assert 4000 / times[-1, 0] == pytest.approx(4.0, rel=0.1)
    assert edges >= 4000


def test_generated_graphs_are_what_inspect_says(tmp_path: Path) -> None:
    from hybrid_scheduler.workloads import write_csv
    from hybrid_scheduler.workloads.graph import GraphShape
    from hybrid_scheduler.workloads.readers.registry import create_reader
    from hybrid_scheduler.workloads.summary import summarise_chunks

    write_csv(tmp_path / "cholesky.csv", scenario_of(preset="cholesky:tiles=6", tasks=100).batch())
    summary = summarise_chunks(create_reader("csv").stream(tmp_path / "cholesky.csv", 1), 1)
    assert summary.kinds == {"gemm": 40, "trsm": 30, "syrk": 30, "potrf": 12}
    tile = 960 * 960 * 8 / 1e6
    shape = summary.graph
    assert shape is not None
    assert (shape.megabytes, shape.mean_megabytes) == pytest.approx((2 * 105 * tile, tile))
    assert replace(shape, megabytes=0.0, mean_megabytes=0.0) == GraphShape(2 * 105, 16, 2 * 15, 2)
