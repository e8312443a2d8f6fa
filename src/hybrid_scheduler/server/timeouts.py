"""How long the parts of the web half wait, in seconds; given to them when they are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """Seconds.

    Attributes:
        look: Between two looks at how store, cache and engine are.
        store_answer: The store has so long to answer such a look.
        stale: An answer of the store that is older says nothing.
        outage: Without an engine, or without an owner of the race, until that is an outage; a lease is shorter.
        silent: An engine tells how it is twice a second; one that has told nothing for so long hangs.
        command: The owner of the race has to answer another process's command; its engine has less.
        status_interval: Between two messages of the owner on how it is.
        status_kept: An owner that has said nothing for so long is no longer believed.
        ping: Between two pings of a WebSocket client.
        pong: For its answer, which comes when it has read as far as the ping.
        grace: Once more: after a pause of this process answers may be there unread. A client that reads nothing is cut
            after the three together at the latest.
        shutdown: For calls under way when the service is told to stop.
        cancelled_experiment: For an experiment that was cancelled to end by itself.
    """

    look: float = 1.0
    store_answer: float = 2.0
    stale: float = 5.0
    outage: float = 10.0
    silent: float = 15.0
    command: float = 35.0
    status_interval: float = 1.0
    status_kept: float = 5.0
    ping: float = 4.0
    pong: float = 5.0
    grace: float = 1.0
    shutdown: float = 10.0
    cancelled_experiment: float = 5.0


DEFAULT_TIMEOUTS = Timeouts()
