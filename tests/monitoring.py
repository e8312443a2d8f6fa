"""What the shipped Grafana dashboard and alert rules ask Prometheus for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
OWN = "hms_"
"""How the names of our series begin."""
VARIABLES = {"$__rate_interval": "10s", "$scheduler": ".*"}
"""What Grafana puts in for its variables, here with data of seconds."""


def grafana_board() -> dict[str, Any]:
    """The dashboard."""
    board: dict[str, Any] = json.loads((DEPLOY / "grafana/dashboards/hybrid-ml-scheduler.json").read_text("utf-8"))
    return board


def grafana_expressions() -> list[str]:
    """Every expression of it, with Grafana's variables filled in."""
    board = grafana_board()
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    for name, value in VARIABLES.items():
        asked = [expression.replace(name, value) for expression in asked]
    return asked


def alert_rules() -> list[dict[str, Any]]:
    """Every alert rule."""
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def asked_series() -> set[str]:
    """Names of our series in all of them."""
    variables = [variable["definition"] for variable in grafana_board()["templating"]["list"]]
    expressions = [*grafana_expressions(), *variables, *(rule["expr"] for rule in alert_rules())]
    return {name for expression in expressions for name in re.findall(rf"\b{OWN}\w+", expression)}


def told_series(text: str) -> set[str]:
    """Names of the series in what `/api/metrics` says, by the official parser."""
    return {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
