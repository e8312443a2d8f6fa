"""The engine's process as the web half starts it: `python -m hybrid_scheduler.server.live DESCRIPTOR`."""

from __future__ import annotations

import os
import socket
import sys

from hybrid_scheduler.server.live.process import main

BEHIND = 5
"""How far the race stands back: people who ask the web half something should not wait for it."""

if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(BEHIND)
    main(socket.socket(fileno=int(sys.argv[1])))
