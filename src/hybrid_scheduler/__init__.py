"""Hybrid ML Scheduler: which task runs on which hardware, CPU, GPU or both?

The names users know are found here, and loaded when they are first used, so that importing the package stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid_scheduler.compile_cache import choose_folder
from hybrid_scheduler.lazy import lazy_names

if TYPE_CHECKING:
    from hybrid_scheduler.api.compare import compare
    from hybrid_scheduler.api.run import run
    from hybrid_scheduler.api.schedulers import load_scheduler, make_env
    from hybrid_scheduler.classic import OnlineScheduler, VirtualMultiGPU
    from hybrid_scheduler.engine.race import Race
    from hybrid_scheduler.executor.executor import Executor
    from hybrid_scheduler.hardware.profiler import HardwareProfiler
    from hybrid_scheduler.learning.predictors import RandomForestPredictor, XGBoostPredictor
    from hybrid_scheduler.model.decision import Decision
    from hybrid_scheduler.model.task import Task
    from hybrid_scheduler.model.view import ClusterView
    from hybrid_scheduler.physics.world import World
    from hybrid_scheduler.scenario import Scenario
    from hybrid_scheduler.schedulers.base import Scheduler
    from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
    from hybrid_scheduler.training.offline import OfflineTrainer
    from hybrid_scheduler.workloads.generator import WorkloadGenerator

    __version__: str

__all__ = [
    "ClusterView",
    "DQNScheduler",
    "Decision",
    "Executor",
    "HardwareProfiler",
    "OfflineTrainer",
    "OnlineScheduler",
    "Race",
    "RandomForestPredictor",
    "Scenario",
    "Scheduler",
    "Task",
    "VirtualMultiGPU",
    "WorkloadGenerator",
    "World",
    "XGBoostPredictor",
    "__version__",
    "compare",
    "load_scheduler",
    "make_env",
    "run",
]

choose_folder()

_load, __dir__ = lazy_names(
    __name__,
    {
        "ClusterView": "model.view",
        "DQNScheduler": "schedulers.rl_agent",
        "Decision": "model.decision",
        "Executor": "executor.executor",
        "HardwareProfiler": "hardware.profiler",
        "OfflineTrainer": "training.offline",
        "OnlineScheduler": "classic",
        "Race": "engine.race",
        "RandomForestPredictor": "learning.predictors",
        "Scenario": "scenario",
        "Scheduler": "schedulers.base",
        "Task": "model.task",
        "VirtualMultiGPU": "classic",
        "WorkloadGenerator": "workloads.generator",
        "World": "physics.world",
        "XGBoostPredictor": "learning.predictors",
        "compare": "api.compare",
        "load_scheduler": "api.schedulers",
        "make_env": "api.schedulers",
        "run": "api.run",
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("hybrid-ml-scheduler")
    return _load(name)
