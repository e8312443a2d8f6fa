"""The small trained models that travel with this package, and the node they were made for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np

from hybrid_scheduler.model.device_columns import KIND, MEMORY, NODE, WATTS
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.view import ClusterView

FOLDER: Final = Path(__file__).parent / "models"
NODE_FILE: Final = FOLDER / "node.json"
PUBLIC: Final = {"kind": KIND, "node": NODE, "memory_mb": MEMORY, "watts": WATTS}
"""What is known of a device before it has done anything, but for its price, which no packaged model depends on."""


def packaged_file(name: str, view: ClusterView) -> Path | None:
    """The packaged model of this file name; None when there is none, or when it was made for another node."""
    path = FOLDER / name
    return path if path.is_file() and fits_node(view.devices) else None


def fits_node(devices: FloatArray) -> bool:
    """Whether the packaged models were made for such a node, as far as a scheduler can see."""
    return bool(public_figures(devices) == json.loads(NODE_FILE.read_text(encoding="utf-8")))


def write_node(devices: FloatArray) -> None:
    """Note the node that the packaged models are made for."""
    NODE_FILE.write_text(json.dumps(public_figures(devices)) + "\n", encoding="utf-8")


def public_figures(devices: FloatArray) -> dict[str, list[float | None]]:
    """The public figures of every device; None for memory without a limit."""
    return {
        name: [float(value) if np.isfinite(value) else None for value in devices[:, column]]
        for name, column in PUBLIC.items()
    }
