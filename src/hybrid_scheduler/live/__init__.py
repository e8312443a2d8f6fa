"""The live engine: a process of its own that races, learns and writes, and the client the web half talks to."""

from hybrid_scheduler.live.client import live_engine

__all__ = ["live_engine"]
