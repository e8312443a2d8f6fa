"""`kill -9` in the middle of a live run: it comes up by itself, nothing is half written, nothing accepted is lost."""

from __future__ import annotations

from killing_rounds import Submitter, check_history, survive
from live_service import LiveService

VICTIMS = ("server", "engine", "server")
"""`benchmarks/killing.py` does it twenty times."""


def test_kill_9(live: LiveService) -> None:
    submitter = Submitter(live.start())
    for victim in VICTIMS:
        survive(live, submitter, victim)
    live.end()
    check_history(live, submitter, len(VICTIMS))
