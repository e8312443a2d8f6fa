"""The agent's curves as TensorBoard reads them."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.errors import MissingExtraError
from hybrid_scheduler.schedulers.rl_agent import LOG_EVERY, DQNScheduler
from hybrid_scheduler.workloads import WorkloadGenerator

CURVES = {"loss", "epsilon", "reward", "mean_response", "mean_energy", "mean_cost"}


def race(tasks: int = 350) -> Race:
    return Race(WorkloadGenerator(3).generate("mixed", tasks, arrival_rate=25.0), seed=3)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[DQNScheduler, EventAccumulator]:
    """A small agent after a short race, and what it wrote; the agent has not been closed or deleted."""
    folder = tmp_path_factory.mktemp("runs")
    agent = DQNScheduler(hidden=16, log_dir=str(folder), seed=1)
    race().run(agent)
    found = EventAccumulator(str(folder))
    found.Reload()
    return agent, found


def test_every_curve_is_there(logged: tuple[DQNScheduler, EventAccumulator]) -> None:
    agent, found = logged
    assert set(found.Tags()["scalars"]) == CURVES
    for name in CURVES:
        steps = [event.step for event in found.Scalars(name)]
        assert steps == list(range(0, agent.updates, LOG_EVERY)), name


def test_the_figures_are_the_agents_own(logged: tuple[DQNScheduler, EventAccumulator]) -> None:
    agent, found = logged
    assert all(event.value == pytest.approx(agent.epsilon) for event in found.Scalars("epsilon"))
    assert all(event.value < 0 for event in found.Scalars("reward"))
    assert all(event.value > 0 for event in found.Scalars("mean_response"))


def test_the_page_names_the_curves() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "tensorboard.md").read_text("utf-8")
    for name in CURVES:
        assert f"`{name}`" in page
    assert f"Every {LOG_EVERY} gradient steps" in page


def test_a_copy_writes_a_log_of_its_own(logged: tuple[DQNScheduler, EventAccumulator]) -> None:
    agent, _ = logged
    copy = pickle.loads(pickle.dumps(agent))
    assert copy.updates == agent.updates
    race(10).run(copy)


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"hybrid-ml-scheduler\[tensorboard\]"):
        race(100).run(DQNScheduler(hidden=16, log_dir=str(tmp_path), seed=1))
