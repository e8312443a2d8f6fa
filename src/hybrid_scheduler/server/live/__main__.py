"""The engine's process as the web half starts it: `python -m hybrid_scheduler.server.live DESCRIPTOR`."""

from __future__ import annotations

import socket
import sys

from hybrid_scheduler.server.live.process import main

if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
