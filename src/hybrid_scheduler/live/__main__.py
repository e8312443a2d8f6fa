"""The engine's process as the web half starts it: `python -m hybrid_scheduler.live DESCRIPTOR`."""

from __future__ import annotations

import os
import socket
import sys

from hybrid_scheduler.live.process import main

NICENESS = 5
"""Of the engine's process: answering requests comes before racing."""

if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    main(socket.socket(fileno=int(sys.argv[1])))
