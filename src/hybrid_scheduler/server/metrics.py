"""What Prometheus reads from `/api/metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from hybrid_scheduler.server.connections import REASONS

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
        for reason in REASONS:
            self._refused.labels(reason)  # at 0 from the start, so that the first one is seen as growth
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

    def watch(self, collector: Collector) -> None:
        """Add figures that are read anew each time they are asked for."""
        self._registry.register(collector)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self._registry)


class RaceCollector(Collector):
    """The figures of the live race."""

    def __init__(
        self,
        status: Callable[[], dict[str, Any]],
        health: Callable[[], dict[str, bool]],
        restarts: Callable[[], int],
    ) -> None:
        self._status, self._health, self._restarts = status, health, restarts

    def describe(self) -> list[Metric]:
        """None: registering must not ask an engine that is not open yet."""
        return []

    def collect(self) -> Iterator[Metric]:
        """As they are now."""
        status = self._status()
        yield from _race(status)
        yield from _schedulers(status["schedulers"])
        yield from _totals(status["totals"])
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
        ("hms_store_lag_seconds", "How long the oldest of them has been waiting.", store["lag_seconds"]),
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
    told = [{**racer, "out": racer["state"] == "out", "gap": racer.get("gap")} for racer in racers]
    yield from _each(GaugeMetricFamily, SCHEDULER_GAUGES, told)
    utilization = GaugeMetricFamily(
        "hms_scheduler_utilization_ratio", "Busy share of a device in the last seconds.", labels=("scheduler", "device")
    )
    for racer in racers:
        for device, share in racer["utilization"].items():
            utilization.add_metric((racer["name"], device), float(share))
    yield utilization


SCHEDULER_GAUGES = (
    ("hms_scheduler_unfinished", "Tasks not finished.", "unfinished"),
    ("hms_scheduler_waiting", "Ready tasks it lets wait.", "waiting"),
    ("hms_scheduler_overloaded", "Whether its backlog grows.", "overloaded"),
    ("hms_scheduler_out", "Whether it was taken out of the race.", "out"),
    ("hms_scheduler_given_up", "Tasks it gave up in this run, far behind.", "given_up"),
    (
        "hms_scheduler_gap_ratio",
        "How far its mean response is above the lower bound of the same tasks in this run, as a share of the bound.",
        "gap",
    ),
)
"""Name, help and key in `RacerInfo`."""
SCHEDULER_COUNTERS = (
    ("hms_scheduler_tasks", "Tasks finished or failed.", "tasks"),
    ("hms_scheduler_failed_tasks", "Tasks failed or given up.", "failed"),
    ("hms_scheduler_wait_seconds", "Simulated seconds that finished tasks have waited.", "wait_seconds"),
    ("hms_scheduler_execution_seconds", "Simulated seconds that finished tasks have run.", "execution_seconds"),
    ("hms_scheduler_energy_joules", "Energy of finished tasks.", "energy_joules"),
    ("hms_scheduler_cost_dollars", "Cost of finished tasks.", "cost_dollars"),
    ("hms_scheduler_decisions", "Decisions made.", "decisions"),
    (
        "hms_scheduler_decision_seconds",
        "Seconds of the clock for decisions and for the simulated node that carries them out, without learning.",
        "decision_seconds",
    ),
    ("hms_scheduler_learning_seconds", "Seconds of the clock for learning.", "learning_seconds"),
)
"""Name, help and key in `SchedulerTotals`; they start at 0 with the engine's process, and `_total` is added."""
MODEL_COUNTERS = (
    ("hms_model_updates", "Gradient steps.", "updates"),
    ("hms_model_refits", "Refreshes of the model that replaced something.", "refits"),
    ("hms_model_refit_checks", "Refreshes of the model, whether they replaced something or not.", "refit_checks"),
    ("hms_model_drift_alarms", "How often a change of tasks or times was noticed.", "drifts"),
)
"""The same of learners, with keys of `LearnedTotals`."""


def _totals(schedulers: list[dict[str, Any]]) -> Iterator[Metric]:
    response = HistogramMetricFamily(
        "hms_scheduler_response_seconds",
        "Response times of finished tasks, from arrival to finish, in simulated seconds.",
        labels=("scheduler",),
    )
    for totals in schedulers:
        told = totals["response"]
        edges = [*(str(bound) for bound in told["bounds"]), "+Inf"]
        counts = [float(count) for count in accumulate(told["counts"])]
        response.add_metric((totals["name"],), list(zip(edges, counts, strict=True)), told["sum"])
    yield response
    yield from _each(CounterMetricFamily, SCHEDULER_COUNTERS, schedulers)
    learners = [{"name": totals["name"], **totals["learned"]} for totals in schedulers if totals["learned"] is not None]
    yield from _each(CounterMetricFamily, MODEL_COUNTERS, learners)


def _each(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    figures: Iterable[tuple[str, str, str]],
    documents: Iterable[Mapping[str, Any]],
) -> Iterator[Metric]:
    """One family for each figure of the schedulers; where nobody knows it, it is left out."""
    for name, text, key in figures:
        family = kind(name, text, labels=("scheduler",))
        for document in documents:
            if document[key] is not None:
                family.add_metric((document["name"],), float(document[key]))
        yield family


def _models(models: list[dict[str, Any]]) -> Iterator[Metric]:
    version = GaugeMetricFamily("hms_model_version", "Last saved version, 0 before the first.", labels=("scheduler",))
    for model in models:
        version.add_metric((model["scheduler_name"],), float(model["version"] or 0))
    yield version
