"""The world of a run, read back from the configuration that was stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hybrid_scheduler.config.sections import ClusterSection, PhysicsSection
from hybrid_scheduler.physics.world import World

SIMULATED = "simulated"
"""What a configuration says of its node, if anything; of real work nothing says how long it would take elsewhere."""


def stored_world(configuration: Mapping[str, Any]) -> World | None:
    """The world of a run; None when the configuration does not describe its devices, or nobody knows their physics."""
    described = configuration.get("cluster")
    if configuration.get("node", SIMULATED) != SIMULATED:
        return None
    if not isinstance(described, dict) or "devices" not in described:
        return None
    physics = dict(described.get("physics") or configuration.get("physics") or {})
    try:
        section = ClusterSection.model_validate({"devices": described["devices"]})
        known = {key: value for key, value in physics.items() if key in PhysicsSection.model_fields}
        return World(section.build(0), PhysicsSection.model_validate(known).build())
    except ValidationError:
        return None  # Written by another version: there is nothing to say then.
