"""Hybrid ML Scheduler: which task runs on which hardware, CPU, GPU or both?

The names users know are found here, and loaded when they are first used, so that importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.compile_cache import choose_folder

if TYPE_CHECKING:
    from hybrid_scheduler.classic import OnlineScheduler, VirtualMultiGPU
    from hybrid_scheduler.hardware.profiler import HardwareProfiler
    from hybrid_scheduler.learning.predictors import RandomForestPredictor, XGBoostPredictor
    from hybrid_scheduler.model.task import Task
    from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
    from hybrid_scheduler.training.offline import OfflineTrainer
    from hybrid_scheduler.workloads.generator import WorkloadGenerator

    __version__: str

__all__ = [
    "DQNScheduler",
    "HardwareProfiler",
    "OfflineTrainer",
    "OnlineScheduler",
    "RandomForestPredictor",
    "Task",
    "VirtualMultiGPU",
    "WorkloadGenerator",
    "XGBoostPredictor",
    "__version__",
]

choose_folder()

_HOMES = {
    "DQNScheduler": "hybrid_scheduler.schedulers.rl_agent",
    "HardwareProfiler": "hybrid_scheduler.hardware.profiler",
    "OfflineTrainer": "hybrid_scheduler.training.offline",
    "OnlineScheduler": "hybrid_scheduler.classic",
    "RandomForestPredictor": "hybrid_scheduler.learning.predictors",
    "Task": "hybrid_scheduler.model.task",
    "VirtualMultiGPU": "hybrid_scheduler.classic",
    "WorkloadGenerator": "hybrid_scheduler.workloads.generator",
    "XGBoostPredictor": "hybrid_scheduler.learning.predictors",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("hybrid-ml-scheduler")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
