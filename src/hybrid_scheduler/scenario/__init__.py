"""Scenarios: a world, its tasks and how they arrive, and how options and configuration become one."""

from hybrid_scheduler.scenario.options import ScenarioOptions
from hybrid_scheduler.scenario.scenario import TRAINING_SEEDS, Load, Rate, Scenario
from hybrid_scheduler.scenario.sources import GraphTasks, PresetTasks, RecordedTasks

__all__ = [
    "TRAINING_SEEDS",
    "GraphTasks",
    "Load",
    "PresetTasks",
    "Rate",
    "RecordedTasks",
    "Scenario",
    "ScenarioOptions",
]
