"""What Prometheus reads from `/api/metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"})
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STATES = ("starting", "running", "paused", "stopped", "waiting_for_store", "following", "failed")


class Metrics:
    """The figures of one application, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "hms_http_request_seconds",
            "Seconds from the call to the end of the answer.",
            ("method", "route", "status"),
            buckets=BUCKETS,
            registry=self._registry,
        )

        self._refused = Counter(
            "hms_connections_refused",
            "Connections refused or cut before the application was asked, by reason.",
            ("reason",),
            registry=self._registry,
        )
        self._connections: Callable[[], int] = lambda: 0
        Gauge("hms_connections", "Connections of all kinds.", registry=self._registry).set_function(
            lambda: float(self._connections())
        )

    def count_refusal(self, reason: str) -> None:
        """Count one connection that was refused or cut."""
        self._refused.labels(reason).inc()

    def watch_connections(self, connections: Callable[[], int]) -> None:
        """Add how many are connected, read anew each time."""
        self._connections = connections

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one call. Any method beyond the usual counts as `other`, so that callers cannot make up series."""
        self._requests.labels(method if method in METHODS else "other", route, str(status)).observe(seconds)

    def watch(
        self,
        status: Callable[[], dict[str, Any]],
        health: Callable[[], dict[str, bool]],
        restarts: Callable[[], int],
    ) -> None:
        """Add the figures of the live race, read anew each time they are asked for."""
        self._registry.register(_RaceCollector(status, health, restarts))

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self._registry)


class _RaceCollector(Collector):
    def __init__(
        self,
        status: Callable[[], dict[str, Any]],
        health: Callable[[], dict[str, bool]],
        restarts: Callable[[], int],
    ) -> None:
        self._status, self._health, self._restarts = status, health, restarts

    def describe(self) -> list[Metric]:
        return []  # Registering must not ask an engine that is not open yet.

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        yield from _race(status)
        yield from _schedulers(status["schedulers"])
        yield from _models(status["models"])
        up = GaugeMetricFamily("hms_dependency_up", "Whether a dependency answers.", labels=("name",))
        for name, answers in self._health().items():
            up.add_metric((name,), float(answers))
        yield up
        yield CounterMetricFamily(
            "hms_engine_restarts", "How often the engine died and was started again.", value=float(self._restarts())
        )


def _race(status: dict[str, Any]) -> Iterator[Metric]:
    state = GaugeMetricFamily("hms_state", "1 for the state the live race is in.", labels=("state",))
    for name in STATES:
        state.add_metric((name,), float(status["state"] == name))
    yield state
    feed, store, rates = status["feed"], status["store"], status["rates"]
    gauges = (
        ("hms_owner", "Whether this process runs the engine.", status["owner"]),
        ("hms_run_tasks", "Tasks of this run finished by every scheduler.", status["tasks_processed"]),
        ("hms_simulated_seconds", "Simulated time of this run.", status["simulated_time"]),
        ("hms_arrival_rate", "Tasks per simulated second.", rates["arrival_rate"]),
        ("hms_tasks_per_second", "Tasks finished per second of the clock, lately.", rates["tasks_per_second"]),
        ("hms_store_waiting_tasks", "Finished tasks not stored yet.", store["waiting_tasks"]),
        ("hms_store_stored_tasks", "Tasks of this run that are stored.", store["stored_tasks"]),
        ("hms_feed_clients", "WebSocket clients of this process.", feed["clients"]),
    )
    for name, text, value in gauges:
        yield GaugeMetricFamily(name, text, value=float(value))
    yield CounterMetricFamily("hms_feed_frames", "Live messages this process passed on.", value=float(feed["frames"]))
    yield CounterMetricFamily(
        "hms_feed_dropped", "Live messages left out for slow clients.", value=float(feed["dropped"])
    )


def _schedulers(racers: list[dict[str, Any]]) -> Iterator[Metric]:
    done = GaugeMetricFamily("hms_scheduler_tasks", "Tasks finished in this run.", labels=("scheduler",))
    decisions = GaugeMetricFamily("hms_scheduler_decisions", "Decisions made in this run.", labels=("scheduler",))
    depth = GaugeMetricFamily("hms_scheduler_unfinished", "Tasks not finished.", labels=("scheduler",))
    waiting = GaugeMetricFamily("hms_scheduler_waiting", "Ready tasks it lets wait.", labels=("scheduler",))
    overloaded = GaugeMetricFamily("hms_scheduler_overloaded", "Whether its backlog grows.", labels=("scheduler",))
    out = GaugeMetricFamily("hms_scheduler_out", "Whether it was taken out of the race.", labels=("scheduler",))
    given_up = GaugeMetricFamily("hms_scheduler_given_up", "Tasks it gave up, far behind.", labels=("scheduler",))
    for racer in racers:
        name = (racer["name"],)
        done.add_metric(name, float(racer["tasks"]))
        if racer.get("decisions") is not None:
            decisions.add_metric(name, float(racer["decisions"]))
        depth.add_metric(name, float(racer["unfinished"]))
        waiting.add_metric(name, float(racer["waiting"]))
        overloaded.add_metric(name, float(racer["overloaded"]))
        out.add_metric(name, float(racer["state"] == "out"))
        given_up.add_metric(name, float(racer["given_up"]))
    yield from (done, decisions, depth, waiting, overloaded, out, given_up)


def _models(models: list[dict[str, Any]]) -> Iterator[Metric]:
    version = GaugeMetricFamily("hms_model_version", "Last saved version, 0 before the first.", labels=("scheduler",))
    updates = GaugeMetricFamily("hms_model_updates", "Gradient steps.", labels=("scheduler",))
    refits = GaugeMetricFamily("hms_model_refits", "Refreshes.", labels=("scheduler",))
    for model in models:
        name = (model["scheduler_name"],)
        version.add_metric(name, float(model["version"] or 0))
        updates.add_metric(name, float(model["updates"]))
        refits.add_metric(name, float(model["refits"]))
    yield from (version, updates, refits)
