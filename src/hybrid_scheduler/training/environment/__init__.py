"""The race as a Gymnasium environment, so that other people's agents can train on our simulator.

Importing this module registers `hybrid_scheduler/Race-v0`; Gymnasium can also import it by itself::

    gymnasium.make("hybrid_scheduler.training.environment:hybrid_scheduler/Race-v0", load=0.8)
"""

import gymnasium

from hybrid_scheduler.training.environment.race_env import RaceEnv

ENVIRONMENT_ID = "hybrid_scheduler/Race-v0"

__all__ = ["ENVIRONMENT_ID", "RaceEnv"]

gymnasium.register(ENVIRONMENT_ID, entry_point="hybrid_scheduler.training.environment.race_env:RaceEnv")
