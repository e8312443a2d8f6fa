"""A real service, read by a real Prometheus: every question of the Grafana dashboard has an answer."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from live_service import LiveService, until
from monitoring import DEPLOY, alert_rules, asked_series, grafana_expressions, told_series

pytestmark = pytest.mark.slow

JOB = "hybrid-ml-scheduler"
RACERS = ("greedy", "hybrid_ml", "rl_agent", "oracle")
READINGS = 8
"""One a second: growth needs two, and Grafana's shortest window is ten seconds."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    folder = tmp_path_factory.mktemp("monitored")
    options = ("--schedulers", ",".join(RACERS), "--speed", "20")
    live = LiveService(folder, f"sqlite+aiosqlite:///{folder / 'history.db'}", *options).start()
    try:
        live.wait_for_tasks(100)
        live.client.get("/api/nothing")  # a refusal
        yield live
    finally:
        live.close()


@pytest.fixture(scope="module")
def prometheus(service: LiveService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Prometheus with the shipped configuration, faster, and pointed at the service."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("Prometheus is not installed")
    folder = tmp_path_factory.mktemp("prometheus")
    settings = yaml.safe_load((DEPLOY / "prometheus.yml").read_text("utf-8"))
    settings["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    settings["scrape_configs"][0]["static_configs"] = [{"targets": [_target(service)]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    shutil.copy(DEPLOY / "alerts.yml", folder)
    address = f"127.0.0.1:{_free_port()}"
    options = (f"--web.listen-address={address}", f"--storage.tsdb.path={folder / 'data'}")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "--config.file=prometheus.yml", *options], cwd=folder, stdout=log, stderr=log
        )
    try:
        with httpx.Client(base_url=f"http://{address}/api/v1", timeout=20.0) as client:
            until(lambda: _readings(client) >= READINGS, f"{READINGS} readings; {_said(folder)}", 90.0)
            yield client
    finally:
        process.terminate()
        process.wait(20)


def _target(service: LiveService) -> str:
    url = service.client.base_url
    return f"{url.host}:{url.port}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _said(folder: Path) -> str:
    return (folder / "log").read_text(errors="replace")[-2000:]


def _ask(client: httpx.Client, expression: str) -> list[dict[str, Any]]:
    response = client.get("/query", params={"query": expression})
    if response.is_server_error:
        response.raise_for_status()
    answer = response.json()
    assert answer["status"] == "success", f"{expression}: {answer}"
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def _readings(client: httpx.Client) -> int:
    try:
        found = _ask(client, f'count_over_time(up{{job="{JOB}"}}[5m])')
    except httpx.HTTPError:
        return 0  # it is starting
    return int(found[0]["value"][1]) if found else 0


def test_the_service_tells_every_series_that_is_asked_for(service: LiveService) -> None:
    told = told_series(service.client.get("/api/metrics").text)
    assert asked_series() - told == set()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
def test_promtool_finds_nothing_odd_in_names_and_types(service: LiveService) -> None:
    told = service.client.get("/api/metrics").content
    done = subprocess.run(["promtool", "check", "metrics"], input=told, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")


def test_prometheus_has_read_without_a_fault(prometheus: httpx.Client) -> None:
    (target,) = prometheus.get("/targets").json()["data"]["activeTargets"]
    assert target["health"] == "up", target["lastError"]


def test_every_expression_of_the_dashboard_has_an_answer(prometheus: httpx.Client) -> None:
    assert [expression for expression in grafana_expressions() if not _ask(prometheus, expression)] == []


def test_figures_in_prometheus_are_those_of_the_race(service: LiveService, prometheus: httpx.Client) -> None:
    service.control("pause")
    try:
        told = {totals["name"]: totals for totals in service.status()["totals"]}
        finished = {name: totals["tasks"] - totals["failed"] for name, totals in told.items()}

        def read() -> dict[str, int]:
            found = _ask(prometheus, "hms_scheduler_response_seconds_count")
            return {series["metric"]["scheduler"]: int(series["value"][1]) for series in found}

        until(lambda: read() == finished, "the same counts in Prometheus")
        assert set(told) == set(RACERS)
        quantiles = _ask(prometheus, "histogram_quantile(0.5, hms_scheduler_response_seconds_bucket)")
        for series in quantiles:
            name = series["metric"]["scheduler"]
            assert 0.0 < float(series["value"][1]) < 20 * told[name]["response"]["sum"] / finished[name]
    finally:
        service.control("resume")


def test_no_alert_fires_and_every_rule_is_understood(prometheus: httpx.Client) -> None:
    (group,) = until(lambda: prometheus.get("/rules").json()["data"]["groups"], "the rules")
    assert {rule["name"] for rule in group["rules"]} == {rule["alert"] for rule in alert_rules()}
    until(lambda: all(rule["health"] == "ok" for rule in _rules(prometheus)), "every rule evaluated")
    assert [rule["name"] for rule in _rules(prometheus) if rule["state"] == "firing"] == []


def test_an_engine_that_dies_raises_the_alert_and_its_counters_start_again(
    service: LiveService, prometheus: httpx.Client
) -> None:
    service.kill_engine()
    service.wait_for("running")
    until(lambda: any(r["name"] == "EngineRestarted" and r["state"] == "firing" for r in _rules(prometheus)), "it")
    until(lambda: _ask(prometheus, "resets(hms_scheduler_tasks_total[1m]) > 0"), "counters that started again")


def _rules(client: httpx.Client) -> list[dict[str, Any]]:
    (group,) = client.get("/rules").json()["data"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found
