"""Columns of devices in the arrays that compiled policies read (`ClusterView.devices`)."""

from __future__ import annotations

from typing import Final

KIND: Final = 0
"""Device column: 0 is a CPU, 1 a GPU."""
NODE: Final = 1
MEMORY: Final = 2
WATTS: Final = 3
PRICE: Final = 4
AVAILABLE: Final = 5
"""Device column: 1 while the device is up, 0 after it failed. A decision must not name a device that is down."""
QUEUED: Final = 6
"""Device column: parts waiting and running."""
SINCE: Final = 7
"""Device column: when the current part started, NaN when none runs."""
BACKLOG: Final = 8
"""Device column: seconds of work there, as the scheduler expected when it placed it (SPEC section 4)."""
DEVICE_COLUMNS: Final = 9

CPU: Final = 0.0
GPU: Final = 1.0

ANY_NODE: Final = -1.0
"""In place of a node: any."""
