"""The files for Prometheus and Grafana: Prometheus' own tool accepts them, and they fit each other and the service."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml
from monitoring import DEPLOY, alert_rules, asked_series, grafana_board, grafana_expressions

from hybrid_scheduler.server.app import ROUTERS

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
WANTED = {
    "hms_scheduler_response_seconds_bucket",
    "hms_scheduler_wait_seconds_total",
    "hms_scheduler_energy_joules_total",
    "hms_scheduler_cost_dollars_total",
    "hms_scheduler_utilization_ratio",
    "hms_scheduler_gap_ratio",
    "hms_scheduler_decision_seconds_total",
    "hms_model_refits_total",
    "hms_model_refit_checks_total",
    "hms_model_drift_alarms_total",
    "hms_store_lag_seconds",
    "hms_connections_refused_total",
    "hms_engine_restarts_total",
}
"""What the dashboard must not be without."""


@needs_promtool
@pytest.mark.parametrize(
    "arguments",
    [("check", "config", "prometheus.yml"), ("check", "rules", "alerts.yml"), ("test", "rules", "alerts.test.yml")],
    ids=" ".join,
)
def test_promtool_accepts(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case_that_fires_and_says_what_to_do() -> None:
    cases = yaml.safe_load((DEPLOY / "alerts.test.yml").read_text("utf-8"))["tests"]
    fires = {check["alertname"] for case in cases for check in case["alert_rule_test"] if check["exp_alerts"]}
    rules = alert_rules()
    assert fires == {rule["alert"] for rule in rules} >= {"StoreLags", "EngineRestarted", "ServiceDown"}
    for rule in rules:
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_the_dashboard_draws_what_matters() -> None:
    assert asked_series() >= WANTED
    for expression in grafana_expressions():
        assert "$" not in expression, "a variable that Prometheus would not understand"


def test_counters_are_asked_for_their_growth() -> None:
    """A counter starts at 0 with its process, so what it says by itself means nothing."""
    for expression in [*grafana_expressions(), *(rule["expr"] for rule in alert_rules())]:
        for match in re.finditer(r"\bhms_\w+_(total|count|sum|bucket)\b", expression):
            before = expression[: match.start()]
            assert before.endswith(("rate(", "increase(")), expression


def _drawn() -> list[dict[str, Any]]:
    return [panel for panel in grafana_board()["panels"] if panel["type"] != "row"]


def test_panels_have_units_words_and_a_row() -> None:
    panels = grafana_board()["panels"]
    assert panels[0]["type"] == "row"
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in _drawn():
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in grafana_board()["panels"]):
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_prometheus_reads_our_figures_and_grafana_reads_prometheus() -> None:
    settings = yaml.safe_load((DEPLOY / "prometheus.yml").read_text("utf-8"))
    (job,) = settings["scrape_configs"]
    assert job["metrics_path"] in {getattr(route, "path", "") for router in ROUTERS for route in router.routes}
    assert job["static_configs"][0]["targets"] == ["app:8000"]
    assert settings["rule_files"] == ["alerts.yml"]
    assert f'job="{job["job_name"]}"' in " ".join(rule["expr"] for rule in alert_rules())
    sources = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text("utf-8"))
    assert {panel["datasource"]["uid"] for panel in _drawn()} == {sources["datasources"][0]["uid"]}


def test_containers_mount_every_file_prometheus_reads() -> None:
    compose = yaml.safe_load((DEPLOY.parent / "compose.yaml").read_text("utf-8"))
    mounted = {volume.split(":")[0] for volume in compose["services"]["prometheus"]["volumes"]}
    assert {"./deploy/prometheus.yml", "./deploy/alerts.yml"} <= mounted
